// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events records Kubernetes Events for reconcile failures, rate-limited
// per object and in total.
//
//	sink := events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
//	rec, err := events.New(sink, "agents.example.com/agentrun", events.Options{Scheme: mgr.GetScheme()})
//	err = rec.RunWith(ctx, mgr.Start) // writes events until the manager has returned
//
//	r.Events.Failure(run, err) // at the end of each reconcile; a nil error records the recovery
//
// A [Recorder] is a k8s.io/client-go/tools/events EventRecorder.
// [Recorder.Legacy] returns it as one of tools/record. One Recorder is enough
// for a process: [Recorder.For] returns it under the name of another
// controller.
//
// # Rules
//
// Options.WritesPerMinute caps the requests about each object, and
// Options.TotalWritesPerSecond all requests. Each object also has a token
// bucket for new Events: ten, and then one in five minutes. The first Event of
// a reason takes no token, for at most eight reasons of an object.
//
// Each call that records is an occurrence. Occurrences of one type, reason,
// action, related object and field path are a series of the object. Failure has
// other series than Eventf. The first occurrence makes an Event. The Recorder
// counts repeats, and writes the count after a pause, which doubles with each
// write, up to ten minutes. A note that differs from the last written one makes
// a new Event when there is a token. Until then, a later note replaces it. A
// recovery, and the failure after it, make new Events too. A recovery is
// written after its failure, or not at all if the object fails again first.
//
// Where requests wait for the total cap, first Events go first, then changed
// notes and counts, then requests in namespaces that fail. The second and the
// third class have one request in ten each.
//
// Recording never blocks on the API server and never fails a reconcile: a panic
// in an object, an error or another part of the caller's code costs one event.
// Notes are redacted in the call that records them, then cut to 1024 bytes.
//
// # When writes fail
//
// A Recorder makes at most 8 requests at a time, 2 in one namespace, for five
// seconds each. It repeats a failed request until that succeeds. The pause
// before it doubles up to 30 seconds, and after a 403 from 15 seconds up to ten
// minutes. A namespace whose requests fail has one request at a time, and all
// such namespaces together four. If the API server cannot be reached, or
// answers 401, 429, 502 or 503, all requests pause, for two seconds at most.
//
// Events that wait are lost if their object is evicted, RunWith ends, their
// namespace is gone or the API server finds them invalid. [Recorder.Stats]
// counts losses by cause, and the log has a line a minute for each.
//
// # What to expect
//
//   - Namespaces that hang delay the others by five seconds for each four of
//     them, once.
//   - A note that always changes makes 22 Events in the first hour of an
//     object, and 12 in each later one.
//   - An update that the API server stored without an answer may be counted
//     twice.
//   - A redactor that hangs, hangs the reconcile that records.
//   - The caps do not count requests that client-go repeats by itself, after a
//     429 or a 5xx with Retry-After.
//
// # RBAC
//
// The Recorder needs create and patch in each namespace whose objects have
// Events, and for cluster-scoped objects in the namespace default. The core
// group is the fallback: see [NewSink].
//
//	rules:
//	- apiGroups: [events.k8s.io, ""]
//	  resources: [events]
//	  verbs: [create, patch]
//
// # Reading them
//
// kubectl events sorts by the last occurrence. kubectl describe shows the
// Events of events.k8s.io in the order of their creation, then core/v1 Events
// by their last occurrence.
//
// # When not to use it
//
// The API server keeps Events for an hour after their last update (its option
// --event-ttl), and they are for people. State that programs act on belongs in
// conditions, and history in logs or metrics.
package events
