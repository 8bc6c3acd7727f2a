// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package live asks a cluster whether it serves Rollouts, whether it would take
// one, and whether it has what the Rollout refers to. It also reads, promotes
// and aborts a live Rollout.
//
// Argo CD and Argo Workflows serve the same group version, so discovery must
// look for the kind. An installed CRD does not mean that a controller runs: a
// Rollout without a controller has an empty status forever. kubectl's rollout
// commands do not know the kind. The functions here take a client's method or
// an object:
//
//	err := live.Available(clientset.Discovery())
//	err = live.Preflight(ctx, dyn.Resource(live.GVR()).Namespace(ns), templates, r, "my-deployer")
//	errs := live.References(ctx, r, get, "")
//	phase, message := live.PhaseOf(u)
//
// Each parameter is the one method that is used. client-go's discovery and
// dynamic clients have these methods, and [Get] is one line of a dynamic
// client.
//
// # RBAC
//
// Available: none beyond discovery. Preflight: patch on rollouts, create on
// rollouts if the Rollout does not exist yet, and create on podtemplates.
// Patches: patch on rollouts/status. References: get on what the Rollout names
// of services, deployments, replicasets, podtemplates, analysistemplates and
// clusteranalysistemplates. A step plugin needs get on the configmap
// argo-rollouts-config in the controller's namespace.
//
// # When not to use it
//
// To wait in a shell, poll with kubectl get, as the plans of package plan do.
// A Rollout is Healthy if the controller has seen its generation, its phase and
// its condition Healthy say so, and its condition Progressing has the reason
// NewReplicaSetAvailable. The phase alone may be of the template before.
package live
