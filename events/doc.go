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
// Each object has two token buckets. Each request takes a token of the first:
// WritesPerMinute. An Event takes a token of the second when it is created, or
// may have been: ten, and then one in five minutes. The first Event of a reason
// takes none of the second, for at most eight reasons of an object. All
// requests share a third bucket: TotalWritesPerSecond.
//
// Occurrences of one type, reason, action, related object and field path are a
// series. A repeat is counted, and the count is written when the pause of the
// series ends. The pause doubles with each write, up to ten minutes. A text
// that differs from the last written one is a new Event if the second bucket
// has a token. Otherwise it waits, and a later text replaces it. A recovery and
// the next failure are texts like any other. A recovery is written after its
// failure. A recovery that waits when the object fails again is not written.
//
// Where requests wait for the total cap, there are three classes: first Events,
// then changed texts and counts, then all requests in namespaces whose requests
// fail. Each tenth request is of the second class, and each tenth of the third.
//
// Recording never blocks on the API server and never fails a reconcile: a panic
// in an object, an error or another part of the caller's code costs one event.
// Notes are redacted in the call that records them, then cut to 1024 bytes.
//
// # When writes fail
//
// A Recorder makes at most 8 requests at a time, 2 in one namespace, for five
// seconds each. A request that failed is made again after a pause that doubles
// up to 30 seconds, after a 403 from 15 seconds up to ten minutes. A namespace
// whose requests fail has one request at a time, and all of these have half of
// the workers. Where no connection, 401, 429, 502 or 503 answers, all requests
// pause. A request is repeated until it succeeds: an Event is lost when its
// object is evicted or when RunWith ends. Events of a namespace that is gone,
// and Events that the API server finds invalid, are lost. [Recorder.Stats]
// counts losses by cause, and the log has a line a minute for each.
//
// # What to expect
//
//   - Namespaces that hang delay others once, by about five seconds for each
//     four of them, until their first answers are missing.
//   - A text that never repeats makes 22 Events in the first hour of an object,
//     and 12 in each later one.
//   - Repeats that wait when an object recovers are reported by the next Event.
//   - An update that the API server stored without an answer may be counted
//     twice.
//   - A redactor that hangs, hangs the reconcile that records.
//   - client-go makes a request again by itself after a 429 or a 5xx with
//     Retry-After. The buckets do not count these.
//
// # RBAC
//
// The Recorder needs create and patch, not get, list or watch. The core group
// is the fallback where events.k8s.io is not served, or in a namespace where it
// is not granted. Grant both verbs in each namespace whose objects have Events.
// Events of cluster-scoped objects are in Options.Namespace, which is "default"
// or "kube-system".
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
