// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout renders a workload as its Deployment or as a canary of Argo
// Rollouts, and reads a canary that runs.
//
// The CRD of Rollouts checks almost nothing. Its controller refuses a mistake
// after the fact, one at a time, and carries some mistakes out, such as a pause
// at which no pod runs the new version. [Convert] refuses all of that while
// rendering, with paths. Without the switch [Render] returns the Deployment
// itself:
//
//	obj, err := rollout.Render(deployment, enabled, rollout.Options{})
//
// The zero [Options] is the safe canary: weight 20, and a pause until a person
// promotes. If the Deployment has the default strategy, at most one pod more
// than replicas runs, and none fewer. The name, the selector and the pod
// template do not change, so Services, budgets and dashboards keep working.
//
// A typed client reads Rollouts after [AddToScheme]. [PhaseOf] says which phase
// one is in, and the patches promote, abort and retry it:
//
//	var r rollout.Rollout
//	err := client.Get(ctx, key, &r)
//	phase, message := rollout.PhaseOf(&r, 0)
//
// With a dynamic client, runtime.DefaultUnstructuredConverter converts.
// Nothing here imports Argo Rollouts.
//
// Package plan switches a running workload without losing capacity: applying
// the other kind deletes all pods before the new ones are ready.
//
// The functions start no goroutine, keep no state and are safe for concurrent
// use. Only [Available] sends a request. internal/e2e/rollout shows the
// statements about upstream on its v1.10.2: on the real controller, and against
// the code of its validation and its arithmetic.
//
// # RBAC
//
// To read, get, list and watch on rollouts. To promote, abort and retry, patch
// on rollouts/status. Available needs no right
// beyond discovery.
//
// # When not to use it
//
// Blue-green is not here, and of traffic routing only what Options.Mutate
// carries: use upstream's manifests. To check a Rollout of another origin,
// use kubectl argo rollouts lint. A weight is a share of pods, not of the work.
// In a controller that elects a leader the canary mostly waits, and proves only
// that the new version starts and gets ready.
package rollout
