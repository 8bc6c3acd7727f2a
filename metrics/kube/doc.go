// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube feeds package metrics from client-go: work queues, API requests
// and leader election.
//
// client-go's own hooks belong to the process, and only the first caller gets
// them. This package sets no global: you wrap a queue, a rest.Config or an
// election where you make it. A [Queue] also counts the items that wait for
// their time.
//
//	queue := kube.NewQueue(m.Controller("agentrun"), workqueue.DefaultTypedControllerRateLimiter[string]())
//	config.Wrap(kube.Transport(m))
//	cb.OnStartedLeading, cb.OnStoppedLeading = kube.Callbacks(m, "agents",
//		cb.OnStartedLeading, cb.OnStoppedLeading)
//
// A manager of controller-runtime shows its leader by a runnable:
//
//	mgr.Add(kube.NewLeaderRunnable(m, options.LeaderElectionID))
//
// A cache whose watch hangs shows its age:
//
//	cache := kube.NewCache(m, "pods", informer)
//
// All of it is safe for concurrent use and records nothing when its recorder is
// nil. In controller-runtime, NewQueue fits the option of the same name:
//
//	controller.Options{NewQueue: func(
//		name string,
//		l workqueue.TypedRateLimiter[reconcile.Request],
//	) workqueue.TypedRateLimitingInterface[reconcile.Request] {
//		return kube.NewQueue(m.Controller(name), l)
//	}}
//
// If you must keep a queue of client-go or of controller-runtime, use a
// QueueProvider. Such a queue does not report the items that wait for their
// time, the age of the oldest ready item, or the items that fail:
//
//	provider := kube.QueueProvider(m) // one for all queues: it knows which queue takes the place of another
//	workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[string]{
//		Name: "agentrun", MetricsProvider: provider, // without a Name client-go reports nothing
//	})
//
// # RBAC
//
// The package needs no additional permissions.
//
// # When not to use it
//
// A [Queue] has no priorities. Keep controller-runtime's priority queue where
// you need priorities and give it a [QueueProvider]. Items that wait for their
// time and items that fail are then not visible, and the alerts
// ControllerQueueBacklog and ControllerObjectFailing never fire.
package kube
