// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout renders a workload as its Deployment, or as a canary of Argo
// Rollouts that is checked before it is applied.
//
// The CRD of Rollouts checks almost nothing. Its controller refuses a mistake
// after the fact, one at a time, and carries some mistakes out, such as a pause
// at which no pod runs the new version. This package refuses all of that while
// rendering, with paths. It leaves most of the pod template to the API server.
// Without the switch Render returns the Deployment itself:
//
//	obj, err := rollout.Render(deployment, enabled, rollout.Options{})
//
// The zero [Options] is the safe canary: weight 20, and a pause until a person
// promotes. If the Deployment has the default strategy, at most one pod more
// than replicas runs, and none fewer. The name, the selector and the pod
// template do not change, so Services, budgets and dashboards keep working.
// [Validate] reports the errors of any Rollout and [Rollout.Warnings] what
// makes a legal one useless as a canary. [Rollout.Counts] says how many pods a
// weight is. Nothing here imports Argo Rollouts.
//
//   - package plan switches a running workload without losing capacity: to
//     apply the other kind deletes all pods before the new ones are ready;
//   - package live asks a cluster whether it serves Rollouts and would take
//     one, and reads, promotes and aborts a live Rollout;
//   - package settings reads chart values and the environment.
//
// The functions of this package, of plan and of settings call no cluster, start
// no goroutine, keep no state, and are safe for concurrent use. Only live sends
// requests. internal/e2e/rollout shows the statements about upstream on its
// v1.10.1: on the real controller, and against the code of its validation and
// its arithmetic.
//
// # RBAC
//
// None.
//
// # When not to use it
//
// Blue-green and traffic routing can be carried through Options.Mutate, but
// this package neither makes nor checks them: use upstream's manifests. A
// weight is a share of pods, not of the work. In a controller that elects a
// leader the canary mostly waits, and proves only that the new version
// starts and gets ready.
package rollout
