// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube feeds package metrics from client-go: work queues, API requests,
// caches and leader election.
//
// client-go's own hooks belong to the process, and only the first caller gets
// them. This package sets no global: you wrap a queue, a rest.Config or an
// election where you make it.
//
//	provider, err := kube.QueueProvider(m.Controller("agentrun"))
//	config.Wrap(kube.Transport(m))
//	cache := kube.NewCache(m, "pods", informer) // where the informer starts
//	cb.OnStartedLeading, cb.OnStoppedLeading, err = kube.Callbacks(m, "agents",
//		cb.OnStartedLeading, cb.OnStoppedLeading)
//
// A manager of controller-runtime shows its leader by a runnable:
//
//	leader, err := kube.NewLeaderRunnable(m, options.LeaderElectionID)
//	mgr.Add(leader)
//
// All of it is safe for concurrent use and records nothing when its recorder is
// nil. Managers of several clusters in one process need a scope each, as
// m.Scope("east"). Without one, a second queue or lease of a name is an error.
//
// # RBAC
//
// The package needs no additional permissions.
//
// # When not to use it
//
// Keep controller-runtime's workqueue metrics if you have alerts on them: a
// queue reports to one provider.
package kube
