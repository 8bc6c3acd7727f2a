// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hold releases the Jobs that jobgc.Options.Hold has left behind, and shows what is held.
//
// A held Job outlives every deletion until its result is recorded. If nobody is left to record it, the Job stays for ever,
// and its namespace can never be deleted. A [Sweeper] lists the held Jobs at start and every hour, and releases those
// whose owner is gone:
//
//	jobs := metadataClient.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace
//	runs := metadataClient.Resource(agentRuns).Namespace
//	sweeper, err := hold.New(jobs, runs, "agents.example.com/result", hold.Options{})
//	err = sweeper.Start(ctx) // blocks; fits manager.Add
//
// There is no timed release: it would lose the results of whatever is slower than it.
//
// # What a controller with a hold has to do
//
//   - Call jobgc's Guard.Release once the outcome, or the loss of a Job that is Deleting, is persisted.
//   - Call [Drop] when it finds a held Job that is being deleted and whose owner is gone, or leave that to the sweep.
//   - Run a Sweeper.
//   - Offer an uninstall step that calls [Sweeper.ReleaseAll] after the controller has stopped and before its CRD goes;
//     it is also the step after Options.Hold was changed or taken away.
//   - Alert on the age of the oldest hold: Options.Observe.
//
// When the controller is gone already, kubectl does it: internal/docs/release-holds.md has the commands, which a test runs.
// They work also in a namespace that is Terminating.
//
// # RBAC
//
// Beside that of jobgc: Jobs (batch): list, patch; list of the owners' kind; namespaces: get, if Options.Namespaces is set.
//
// # When not to use it
//
// A hold keeps the Job object, and with it its outcome. Its pods, their logs and termination messages go when the deletion
// begins. A controller that is the only one to delete its Jobs needs no hold: the backstop TTL of jobgc keeps both.
package hold
