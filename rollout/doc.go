// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout renders a workload as the Deployment it is, or as a canary of Argo Rollouts that cannot hurt.
package rollout
