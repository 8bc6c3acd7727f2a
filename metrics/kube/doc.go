// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube feeds package metrics from client-go: work queues, API requests and leader election.
//
// client-go reports through process-wide hooks that the first import takes; whoever comes second gets nothing and is
// not told. Nothing here sets a global: a queue, a rest.Config or an election is wrapped where it is made. Items that
// wait for their time, which client-go does not count, are counted.
//
//	queue := kube.NewQueue(m.Controller("agentrun"), workqueue.DefaultTypedControllerRateLimiter[string]())
//	config.Wrap(kube.Transport(m))
//	cb.OnStartedLeading, cb.OnStoppedLeading = kube.Callbacks(m, "agents", cb.OnStartedLeading, cb.OnStoppedLeading)
//
// All of it is safe for concurrent use and records nothing when its recorder is nil. In controller-runtime, NewQueue fits
// the option of the same name:
//
//	controller.Options{NewQueue: func(name string, l workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
//		return kube.NewQueue(m.Controller(name), l)
//	}}
//
// A queue of client-go that exists keeps its kind; items that wait for their time and the age of the oldest ready one are then missing:
//
//	provider := kube.QueueProvider(m) // one for all queues: it knows which queue takes the place of another
//	workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[string]{
//		Name: "agentrun", MetricsProvider: provider, // without a Name client-go reports nothing
//	})
//
// # RBAC
//
// None of its own.
//
// # When not to use it
//
// A [Queue] has no priorities. Keep controller-runtime's priority queue where they matter and give it a [QueueProvider];
// items that wait for their time are then not visible.
package kube
