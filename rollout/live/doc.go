// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package live asks a cluster whether it serves Rollouts, would take one and has what it refers to, and reads, promotes and aborts a
// live one.
//
// "The CRD is installed" is neither "a group version of that name answers", since Argo CD and Argo Workflows serve the
// same one, nor "a controller runs": a Rollout without a controller has an empty status for ever. And kubectl's own
// rollout commands do not know the kind. What is needed of them is here, as functions of a client's method or of an object:
//
//	err := live.Available(clientset.Discovery())
//	err = live.Preflight(ctx, dyn.Resource(live.GVR()).Namespace(ns), r, "my-deployer")
//	errs := live.References(ctx, r, get, "")
//	state, message := live.Phase(u)
//
// The parameters are the one method that is used: discovery and dynamic clients of client-go fit as they are, and [Get] is a line of one.
//
// # RBAC
//
// Available: none beyond discovery. Preflight: patch (and create, for one that does not exist) on rollouts. Patches: patch on
// rollouts/status. References: get on what the Rollout names of services, deployments, replicasets, podtemplates, analysistemplates and
// clusteranalysistemplates, and, for a step plugin, on the configmap argo-rollouts-config in the controller's namespace.
//
// # When not to use it
//
// To wait in a shell, use kubectl wait with --for=jsonpath, as the plans of package plan do.
package live
