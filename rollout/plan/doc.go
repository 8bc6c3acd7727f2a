// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan switches a running workload from a Deployment to a Rollout, and back, without losing a pod.
//
// Rendering the other kind and applying it is an outage: the new pods are not ready when the old ones are gone, whichever is
// done first. A plan is the steps that keep them, in order, each with the wait that must hold before the next:
//
//	r, errs := rollout.Convert(manifest, rollout.Options{})             // the Deployment as it is rendered, with the image that runs
//	p, errs := plan.Migration(liveDeployment, r, hpas, plan.SideBySide) // the Deployment as it was read from the server
//	fmt.Print(p)                                                        // a shell script with comments: read it, then run it
//
// The way back, [Rollback], may be previewed before there is a Rollout in the cluster: it takes what r.Unstructured gives, and warns
// that this has no status. The first revision of a Rollout goes through no steps, so Migration compares the two pod templates: another
// image and a container more or less are errors, all else that differs beyond what a server fills in is a warning that names the fields.
//
// Nothing here talks to a cluster. A plan is made of the live objects, so make it anew just before it is run; what would cost
// capacity or skip the canary's steps is an error, what may bite is a warning. With N replicas, as internal/e2e/rollout
// measures it on a Service's endpoints while both real controllers carry the plans out, both ways:
//
//	method      ready pods       what it needs
//	SideBySide  N .. 2N          room for twice the pods
//	Adopt       N .. N+maxSurge  maxUnavailable 0; Rollouts v1.10 looks for a label, and gets it
//	Reference   N .. 2N          the Deployment stays, with 0 pods, as the source of the template
//
// Adopt needs maxUnavailable 0, with maxSurge 1, on both: on the Rollout for the way there, as the zero rollout.Options have it, and on
// the Deployment for the way back, where Kubernetes' default of 25% is refused. Set it before the switch, and plan both in one unit test.
//
// # Before Argo Rollouts is uninstalled
//
// Go back first: with its CRDs the server deletes every Rollout, and the garbage collector their pods, at once.
//
// # RBAC
//
// Whoever runs a plan needs, in its namespace:
//
//	rules:
//	- apiGroups: [apps]
//	  resources: [deployments]
//	  verbs: [get, list, watch, create, patch, delete]
//	- apiGroups: [argoproj.io]
//	  resources: [rollouts]
//	  verbs: [get, list, watch, create, patch, delete]
//	- apiGroups: [apps]
//	  resources: [replicasets] # Adopt
//	  verbs: [list, patch]
//	- apiGroups: [apps]
//	  resources: [deployments/scale] # Reference
//	  verbs: [patch]
//	- apiGroups: [autoscaling]
//	  resources: [horizontalpodautoscalers]
//	  verbs: [get, patch]
//
// # When not to use it
//
// Where nothing runs yet, apply the Rollout. Where a moment without pods is fine, so is the naive way. And a weight is a share
// of pods, not of the work: of a controller that elects a leader, the pods of the canary mostly stand by.
package plan
