// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expire deletes finished runs whose retention is over.
//
// A run is the object that owns a Job, of any kind. It expires when Options.TTL
// has passed since it finished. The run's own ttlSecondsAfterFinished replaces
// Options.TTL. Here 0 or less keeps the run; on a Job, 0 means immediate
// deletion. [RetainAnnotation] keeps it. A [Sweeper] deletes the expired runs.
// It reads the informer's store and makes no request while there is nothing to
// delete:
//
//	server := new(expire.ServerTime)
//	config.Wrap(server.Wrap) // before the clients are made
//	sweeper, err := expire.New(runs, informer.GetStore().List, finished, server, expire.Options{TTL: month})
//	err = sweeper.Start(ctx) // blocks; fits manager.Add
//
// The store must hold of each run its name, namespace, uid, resourceVersion,
// deletionTimestamp, the annotation, and what finished reads. A transform that
// strips the annotation makes the Sweeper delete runs that it should keep.
//
// A sweep looks at every run. If there are tens of thousands, also register the
// Sweeper as an event handler. It then looks at them only if one may be due:
//
//	_, err = informer.AddEventHandler(sweeper)
//
// # Guarantees
//
// A run is deleted only if it is overdue by the clock of this machine and by
// that of the API server, so that a clock that is ahead deletes no history.
// Every deletion carries the run's uid and resourceVersion as preconditions. A
// run that was edited, retained or recreated since it was read therefore stays,
// and the next sweep decides again. One sweep makes at most 100 deletions, the
// most overdue first. A run that cannot be deleted does not block the others.
// The garbage collector deletes what a run owns, in the background.
//
// # RBAC
//
// The runs' kind: delete; list and watch for the informer.
//
// # When not to use it
//
// Do not use it where something else keeps the history, such as a database that
// the runs are copied to. Never use it on runs that another controller has yet
// to read.
package expire
