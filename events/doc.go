// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events records Kubernetes Events for reconcile failures, rate-limited
// per object and in total.
//
// A [Recorder] writes the first occurrence of a failure immediately and counts
// its repeats in a series. Each object has a token bucket, and all requests
// share another. The Recorder bounds its memory, retries writes that fail, and
// counts the Events it lost, by cause. A namespace whose writes fail does not
// delay the others.
//
//	sink := events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
//	rec, err := events.New(sink, "agents.example.com/agentrun", events.Options{Scheme: mgr.GetScheme()})
//	err = rec.RunWith(ctx, mgr.Start) // writes events until the manager has returned
//
//	r.Events.Failure(run, err) // at the end of each reconcile; a nil error records the recovery
//
// A Recorder is a k8s.io/client-go/tools/events EventRecorder.
// [Recorder.Legacy] returns it as one of tools/record.
//
// # Rules
//
// Recording never blocks on the API server and never fails a reconcile: a panic
// in an object, an error or another part of the caller's code costs one event.
// Notes are redacted, then cut to 1024 bytes. Only values of 8 bytes or more
// that redact.SecretValues keeps are masked for certain. Objects are
// distinguished by uid, namespace and name, or without a uid by group, kind,
// namespace and name. [Recorder.Stats] counts the result of every occurrence.
// [Recorder.HasPending] tells whether an object still waits for an Event.
//
// One Recorder is enough for a process: [Recorder.For] returns it under the
// name of another controller.
//
// # Order
//
// First Warnings and recoveries are written before first Normals, and all of
// these before updates of series. After each write the Recorder pauses the
// series, first for 60s/WritesPerMinute and then twice as long each time, up to
// ten minutes. When the pause ends, the Recorder writes the last note if it has
// changed since the last write, otherwise the count. So no Event is stale for
// longer than a pause, and a text that is different each time makes no flood.
//
// A pause ends early after a change of metadata.generation, because the user
// who edited the object waits for the result, and for another text of a
// terminal error. At most three pauses in a row do, except for a text that came
// twice after a change of the generation. An object has at most 8 series.
//
// When an object fails or recovers, its pauses begin again. A failure that
// still waits is written before Recovered, and Recovered before the next
// failure.
//
// # When writes fail
//
// A Recorder makes at most 8 requests at a time, and 2 in one namespace. It
// cancels a request after about a second. A namespace becomes suspect when a
// write in it fails or takes that long, until one succeeds quickly. A suspect
// namespace has one request at a time, which may take 10 seconds. All suspect
// namespaces together have 4, and half of TotalWritesPerSecond. The Recorder
// pauses all writes only for what concerns the whole server: no connection, and
// the answers 401, 429, 502 and 503. This pause grows only if another namespace
// fails too. While all requests fail, pauses double up to 30 seconds. Where
// some succeed, they are as long as the share of failures demands: a server
// that fails four of five requests gets one a second.
//
// During an outage no Event is given up. One is given up if it failed for five
// minutes while most writes in other namespaces succeeded, at most one in five
// minutes in a namespace that fails. A write that is denied, or that no group
// serves, is tried again every 15 seconds for 45 seconds, because an API server
// that starts knows no roles for a moment; in a Flush or a stop once. An
// invalid one is tried once. A namespace that is absent or terminating is not
// asked again for 30 seconds.
//
// After a 429 or 5xx with Retry-After, client-go sleeps and makes the request
// again by itself. The Recorder stops it, so that the caps count each request.
//
// # RBAC
//
// The Recorder needs create and patch, not get, list or watch. The core group
// is the fallback. Grant both verbs in each namespace whose objects have
// Events. Events of cluster-scoped objects are in Options.Namespace, which is
// "default" or "kube-system".
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
// by their last occurrence. Each recovery is a new Event, and the last row that
// this package writes about an object that has recovered.
//
// # When not to use it
//
// The API server keeps Events for an hour after their last update (its option
// --event-ttl), and they are for people. State that programs act on belongs in
// conditions, and history in logs or metrics.
package events
