// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events records Kubernetes Events about reconcile outcomes without ever becoming the incident.
//
// A failure that nobody sees is not mended, and one that is written at every retry buries all others and the API server with
// them. A [Recorder] writes the first occurrence at once, makes a series of its repeats, holds a strict cap per object and one
// over all, keeps bounded memory, retries what the server refuses for a moment, and counts by cause whatever it had to lose.
//
//	sink := events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
//	rec, err := events.New(sink, "agents.example.com/agentrun", events.Options{Scheme: scheme}) // objects of typed clients carry no kind
//	c := &Controller{events: rec}
//	err = rec.Outlive(ctx, c.Run) // or mgr.Start: events are written until it has returned; the error says which were lost
//
//	c.events.Failure(run, err) // at the end of each reconcile; a nil error reports the recovery
//
// It fits where k8s.io/client-go/tools/events EventRecorder does, and [Recorder.Legacy] where that of tools/record does.
//
// # Rules
//
// Recording never blocks on the API server and never fails a reconcile. Notes are redacted, then cut to 1024 bytes; only
// values of 8 bytes or more that are registered with redact.SecretValues are masked for certain. Package eventstest stands in
// for a Recorder in unit tests. Objects are told apart by uid; the resourceVersion plays
// no part. [Recorder.Stats] says what became of every occurrence.
//
// # RBAC
//
// Two verbs, and no get, list or watch. The second group is the fallback. They are needed in each namespace whose objects have
// Events, and in "default" for objects that have no namespace.
//
//	rules:
//	- apiGroups: [events.k8s.io, ""]
//	  resources: [events]
//	  verbs: [create, patch]
//
// # Reading them
//
// kubectl events sorts by what was seen last. kubectl describe has the Events of events.k8s.io in the order of their beginnings,
// then those of core/v1 by what was seen last. Sorted by metadata.creationTimestamp, a failure that goes on comes before what
// is long over.
//
// # When not to use it
//
// Events are kept for an hour and are for people. State that programs act on belongs in conditions, and what must be kept in
// logs or metrics.
package events
