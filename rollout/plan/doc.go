// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan switches a running workload from a Deployment to a Rollout, and
// back, without losing capacity.
//
// To apply the other kind causes an outage: the old pods are deleted before the
// new ones are ready. The steps of a plan keep the old pods until then:
//
//	r, errs := rollout.Convert(manifest, rollout.Options{})              // the rendered Deployment, with the image that runs
//	p, errs := plan.Migration(liveDeployment, r, hpas, plan.Options{})   // the live Deployment
//	fmt.Print(p)                                                         // a script for sh or bash: read it, then run it
//
// [Rollback] plans the return. For a workload without a status, such as a
// rendered one, both return a preview. Its script stops at the first step.
//
// # A script is safe to run late, again, or by another person
//
// The first step compares the live workload with the plan: the uid, the
// generation, the replicas, the images and the selector. Rollback also compares
// status.stableRS, status.currentPodHash and the condition that says that the
// API server refuses a ReplicaSet, and, for Reference, not the generation. If
// they differ, the script prints the difference and stops before it changes
// anything. The same check comes again before each step that takes pods away.
//
// When the new workload has its pods, the script hands a
// HorizontalPodAutoscaler over and watches for 10 seconds whether it keeps its
// new target. If KEDA or a GitOps tool has put the old target back, the script
// stops. It checks the target again before it removes the old workload, which
// keeps all its pods until then, except with Adopt.
//
// A script that was interrupted can be run again from its start: it skips the
// finished steps, and ends in the same state. It never applies a whole manifest
// to a workload that exists. One step applies spec.replicas alone, under the
// field manager replicas. A conflict there means that an autoscaler keeps it,
// and the script goes on. A request that fails stops it.
//
// # Owners of the workload
//
// The workload that a plan creates gets these marks of the live one, unless its
// manifest has others:
//
//	Helm    annotations meta.helm.sh/release-name and release-namespace
//	Helm    label app.kubernetes.io/managed-by: Helm
//	Flux    labels kustomize.toolkit.fluxcd.io/name and namespace
//	Flux    labels helm.toolkit.fluxcd.io/name and namespace
//	others  ownerReferences, without blockOwnerDeletion
//
// Helm fails to upgrade an object without its marks, and its rendered manifest
// has none. The marks of Argo CD, kapp, Fleet and Config Sync are not copied.
// These tools take over an object without a mark when it is in their source.
// They delete an object with a mark that is not in their source yet.
//
// # Methods
//
// The first revision of a Rollout goes through no steps, so both functions
// refuse pod templates that differ in an image or a container. Plan.Warnings
// names other differences, and the tools that manage the workload.
//
// A Deployment whose maxSurge is 0 and whose pods use a PersistentVolumeClaim,
// a hostPort or hostNetwork has no plan: every method runs a pod more for a
// while.
//
// With N replicas, the ready endpoints of a Service were these in both
// directions, while both real controllers carried out the plans
// (internal/e2e/rollout):
//
//	method      ready pods       what it needs
//	SideBySide  N .. 2N          room for twice the pods
//	Adopt       N .. N+maxSurge  maxUnavailable 0; Rollouts v1.10 looks for a label, and gets it
//	Reference   N .. 2N          the Deployment stays, with 0 pods, as the source of the template
//
// Adopt needs a maxUnavailable of 0 pods and a maxSurge of at least 1 pod:
// Migration checks the Rollout, Rollback the Deployment. The default 25% of a
// Deployment is 1 pod or more from 4 replicas on, and Rollback then refuses
// Adopt. Set both fields before the switch, and plan both directions in one
// unit test.
//
// # Before Argo Rollouts is uninstalled
//
// Go back first. With its CRDs the server deletes every Rollout, and the
// garbage collector deletes their pods.
//
// # RBAC
//
// Running a plan needs these rights in its namespace:
//
//	rules:
//	- apiGroups: [apps]
//	  resources: [deployments]
//	  verbs: [get, list, watch, create, patch, delete]
//	- apiGroups: [argoproj.io]
//	  resources: [rollouts]
//	  verbs: [get, list, watch, create, patch, delete]
//	- apiGroups: [apps]
//	  resources: [replicasets] # Adopt
//	  verbs: [get, list, patch]
//	- apiGroups: [apps]
//	  resources: [deployments/scale] # Reference
//	  verbs: [patch]
//	- apiGroups: [autoscaling]
//	  resources: [horizontalpodautoscalers]
//	  verbs: [get, patch]
//
// # When not to use it
//
// If nothing runs yet, apply the Rollout. If a moment without pods is fine, so
// is an apply of the other kind.
package plan
