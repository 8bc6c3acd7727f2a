// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout renders a workload as the Deployment it is, or as a canary of Argo Rollouts that cannot hurt.
//
// A canary is one value away in most charts, and so is a bad one: the CRD checks almost nothing, the controller refuses after
// the fact and one mistake at a time, and some mistakes it carries out, such as a pause at which not one pod runs the new
// version. Here all of that is refused while rendering, with paths, and off is off:
//
//	obj, err := rollout.Render(deployment, enabled, rollout.Options{})
//
// The zero [Options] is the safe canary: weight 20, a pause until a person promotes, one pod more than replicas and none less.
// Name, selector and pod template stay, so Services, budgets and dashboards do too. [Validate] checks any Rollout,
// [Rollout.Counts] tells how many pods a weight is, [Rollout.Lost] what a CRD would drop. Nothing here imports Argo Rollouts.
//
//   - package plan switches what runs without losing a pod: applying the other kind does lose them all, for a moment;
//   - package live asks a cluster whether it serves Rollouts, and reads, promotes and aborts one;
//   - package settings reads chart values and the environment.
//
// Everything is a pure function: no cluster, no goroutine, no state, safe for concurrent use. What is said of upstream is shown on
// its v1.10.1 by internal/e2e/rollout: on the real controller, and beside the code of its validation and its arithmetic.
//
// # RBAC
//
// None.
//
// # When not to use it
//
// For blue-green and traffic routing use upstream's own manifests: they can be carried through Options.Mutate and are checked by
// upstream's rules, but not made here. And a weight is a share of pods, not of the work: in a controller that elects a leader
// the canary mostly stands by. It proves that the new version starts and gets ready, no more.
package rollout
