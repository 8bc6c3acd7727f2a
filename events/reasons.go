// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

// Reasons that every controller needs. They are stable, so alerts and people
// can match them. Each is the reason of a Warning, except Recovered. Declare
// your own reasons as constants in the same form.
const (
	// InvalidSpec says that the object's spec cannot be carried out. A retry
	// fails the same way: correct the spec.
	InvalidSpec = "InvalidSpec"
	// MissingSecret says that a Secret the object names does not exist: create
	// it, or correct the name. [Classify] says when to reconcile again.
	MissingSecret = "MissingSecret"
	// MissingConfigMap says that a ConfigMap the object names does not exist:
	// create it, or correct the name.
	MissingConfigMap = "MissingConfigMap"
	// MissingDependency says that another object the spec names does not exist:
	// create it, or correct the name.
	MissingDependency = "MissingDependency"
	// Forbidden says that the controller lacks a permission, or that a policy
	// or quota refused: grant the verb that the note names, or relax the
	// policy. The controller is not notified of the grant.
	Forbidden = "Forbidden"
	// Conflict says that writes have failed with conflicts for two minutes, or
	// that an object to create exists already. The controller tries again. Look
	// for two controllers that own one field, or one name.
	Conflict = "Conflict"
	// Unavailable says that a dependency refused, throttled or could not be
	// reached. The controller tries again. Look at the dependency.
	Unavailable = "Unavailable"
	// Timeout says that a dependency did not answer in time. The controller
	// tries again. Look at the dependency and at the deadline.
	Timeout = "Timeout"
	// StatusRefused says that the API server refused the status that the
	// controller computed, such as a value that its CRD does not allow. It is
	// not the user's spec. The controller tries again. Install the CRD that
	// fits the controller, or fix the controller.
	StatusRefused = "StatusRefused"
	// InternalError says that reconciling failed for a cause that has no other
	// reason. The controller tries again. Read the note and the log.
	InternalError = "InternalError"
	// Recovered is Normal: the failure that the note names has ended.
	Recovered = "Recovered"
)
