// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package world is a small cluster in memory, and a search through everything
// that can happen to a controller in it: kills, late caches, lost answers, a
// second replica, and other clients.
//
// A [Model] names the controllers, the other [Actor] values, and the rules.
// [Model.Search] visits all states that the world can reach within its
// [Budgets]. In each state it calls Check. From each state it also follows the
// world without faults and asks Right at the end.
//
// # Replay
//
// The search runs the real Reconcile. A reconcile sends its requests through
// an [API]. When it sends one whose answer is not decided yet, the search ends
// the call there and branches. For each branch it calls Reconcile again from
// the start of the process, with the answers that are decided. The code under
// test needs no change for this. It has to be deterministic: the same answers
// and times cause the same requests. A reconcile that iterates over a map or
// draws random numbers is reported.
//
// Each replay runs in a bubble of testing/synctest, so the code under test may
// use time.Now, contexts with deadlines and timers.
//
// # What the cluster does
//
// [Store] answers requests as an API server does, for any resource: versions,
// generations, preconditions, finalizers, the status subresource, merge and
// JSON patches. It knows the fields of metadata and no types. [Jobs] and
// [GarbageCollector] are the controllers of Kubernetes that most models need.
// [Client] is a client with the methods of client-go's typed clients.
//
// A cache of a process sees each change of its resources in order, and any time
// later. Two resources are not seen in the order of their changes.
package world
