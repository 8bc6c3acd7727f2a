// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan switches a running workload from a Deployment to a Rollout, and
// back, without losing capacity.
//
// To apply the other kind causes an outage: the old pods are deleted before the
// new ones are ready. A plan runs both workloads for a while:
//
//	// The rendered Deployment, with the image that runs.
//	r, errs := rollout.Convert(manifest, rollout.Options{})
//	// The live Deployment, and the autoscalers of its namespace.
//	p, errs := plan.Migration(deployment, r, others, plan.Options{})
//	// A script for sh: read it, then run it.
//	fmt.Print(p)
//
// [Rollback] plans the return. Both are data, a list of steps that check,
// apply, patch, wait or delete. Printed, they are these scripts of kubectl:
//
//   - testdata/migration.sh and testdata/migration-autoscaled.sh
//   - testdata/rollback.sh and testdata/rollback-autoscaled.sh
//
// # A script is safe to run late, again, or by another person
//
// The first step compares the live workload with the plan: its uid and its
// generation, and for a Rollout status.stableRS and status.currentPodHash. If
// they differ, the script prints the difference and stops before it changes
// anything. The same check comes again before the old workload is deleted. The
// old workload keeps all its pods until then, and the script says how to go
// back.
//
// The new workload counts when its controller has seen it and as many of its
// pods are available as the old one wants. Then the script hands a
// HorizontalPodAutoscaler over, and looks after 10 seconds whether it keeps its
// new target. If KEDA or a GitOps tool has put the old target back, the script
// stops.
//
// A script that was interrupted can be run again from its start: a finished
// step does nothing, and the end is the same. A request that fails stops it.
//
// # Who owns the new workload
//
// The plan applies under the field manager that applies the live workload. So
// the next apply of that tool removes what its manifest no longer has. No
// manager keeps spec.replicas: the next apply may have replicas, another number
// of them, or none.
//
// The new workload gets these marks of the live one, unless its manifest has
// others:
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
// The script prints Plan.Warnings when it runs. They name the tools that manage
// the workload, and what refers to it by its kind.
//
// # Capacity
//
// With N replicas, N to 2N pods were ready in both directions, while both real
// controllers carried out the plans (internal/e2e/rollout). The cluster needs
// room for twice the pods. A Deployment whose maxSurge is 0 and whose pods use
// a PersistentVolumeClaim, a hostPort or hostNetwork has no plan.
//
// There is one method. Two others are not here, because their users have
// Argo Rollouts' own spec.workloadRef:
//
//   - Without room for twice the pods, apply the Rollout with a workloadRef and
//     scaleDown: progressively, and without an autoscaler, which the controller
//     works against. To let the Rollout adopt the ReplicaSets of a deleted
//     Deployment instead relies on a label that no document promises, and no
//     step leads back from it.
//   - To keep the Deployment as the source of the template, apply the Rollout
//     with a workloadRef and scaleDown: onsuccess. Going back, set it to never,
//     scale the Deployment up, wait, and delete the Rollout.
//
// The first revision of a Rollout goes through no steps, so both functions
// refuse pod templates that differ in an image or a container.
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
//	- apiGroups: [autoscaling]
//	  resources: [horizontalpodautoscalers]
//	  verbs: [get, patch]
//
// # When not to use it
//
// If nothing runs yet, apply the Rollout. If a moment without pods is fine, so
// is an apply of the other kind.
package plan
