// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hold releases Jobs whose jobgc.Options.Finalizer was never removed,
// and reports which Jobs are held.
//
// A held Job outlives every deletion until its result is recorded. If no
// controller is left to record it, the Job stays forever, and its namespace can
// never be deleted. A [Sweeper] lists the held Jobs at start and every hour,
// and releases the Jobs that no owner waits for:
//
//	jobs := metadataClient.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace
//	runs := metadataClient.Resource(agentRuns).Namespace
//	sweeper, err := hold.New(jobs, runs, "agents.example.com/result", hold.Options{})
//	err = sweeper.Start(ctx) // blocks; fits manager.Add
//
// No Job is released by a timeout: a timeout would lose the result of any run
// that takes longer.
//
// # What a controller with a hold has to do
//
//   - Call jobgc's Guard.Step again after the outcome, or the loss, is
//     recorded. Step then removes the finalizer.
//   - Call [Sweeper.ReleaseOrphan] when it finds a held Job and not its owner,
//     or leave that to the sweep.
//   - Run a Sweeper.
//   - Offer an uninstall step that calls [Sweeper.ReleaseAll] after the
//     controller has stopped and before its CRD is deleted. Run the same step
//     with the old name after you change or remove Options.Finalizer.
//   - Alert on the age of the oldest hold: Options.OnSweep.
//
// If the controller is already gone, use kubectl: a test runs the commands in
// examples/operate/release-holds.md. They also work in a namespace that is
// Terminating.
//
// # RBAC
//
// In addition to the permissions of jobgc: Jobs (batch): list, patch; the
// owners' kind: list.
//
// # When not to use it
//
// A hold keeps the Job object, and with it the outcome of a Job that has
// finished. It does not keep the outcome of a Job that still runs: once the
// deletion begins, the Job controller mostly adds no condition. A deletion in
// the foreground deletes the pods, their logs and their termination messages
// immediately. One in the background, as by kubectl, lets the pods run until
// the hold is released. If only your controller deletes its Jobs, you do not
// need a hold: the UnrecordedTTL of jobgc keeps both.
package hold
