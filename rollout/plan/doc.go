// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan switches a running workload from a Deployment to a Rollout, and
// back, without losing capacity.
//
// Applying the other kind causes an outage: the old pods are deleted before the
// new ones are ready. A plan runs both workloads for a while:
//
//	// The rendered Deployment, with the template that runs.
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
// Suspend what applies the workload while the script runs: Argo CD, Flux, Helm,
// a pipeline or an operator would put back what it removes.
//
// # A script is safe to run late, again, or by another person
//
// The first step compares the live workload with the plan: its uid, its pod
// template by the command cksum, and of a Rollout status.stableRS and
// status.currentPodHash. Replicas may change, so an autoscaler does not stop a
// plan. If anything else differs, the script prints it and stops before it
// changes anything. The same check comes again before the old workload is
// deleted. The old workload keeps all its pods until then, and the script says
// how to go back.
//
// The new workload has an annotation with a checksum of what the plan applies,
// without the replicas, and of the live pod template. Only the same plan goes
// on with a workload that an interrupted script has left.
//
// Migration and Rollback refuse a manifest with another pod template than the
// live workload has: the switch would bring a release or take one back. They
// ignore the defaults that a server fills in.
//
// The new workload is scaled up if the old one is. It is ready when as many of
// its pods are available as it should have, or as the old one should have if
// that is less. Then the script hands a ScaledObject and a
// HorizontalPodAutoscaler over, looks after 10 seconds whether each keeps its
// new target, and waits for the pods again. A HorizontalPodAutoscaler that the
// plan does not know stops it.
//
// A script that was interrupted can be run again from its start: a finished
// step does nothing, and the end is the same. A request that fails stops it.
//
// # Who owns the new workload
//
// The plan applies under the field manager that applies the live workload. So
// the next server-side apply of that tool removes what its manifest no longer
// has. A client-side apply removes nothing the first time, because it has no
// record of an apply before. No manager keeps spec.replicas: the next apply
// may have replicas, another number of them, or none. If the old workload was
// scaled up while the script waited, kubectl keeps them, as after kubectl
// scale.
//
// The new workload gets Helm's marks of the live one, the annotations
// meta.helm.sh/release-name and release-namespace and the label
// app.kubernetes.io/managed-by, unless its manifest has others: Helm fails to
// upgrade an object without them. It gets no other marks, and the manifest
// should have none: a tool that finds its mark on an object that is not in its
// source deletes the object.
//
// # Capacity
//
// With N replicas, N to 2N pods were ready in both directions, while both real
// controllers carried out the plans (internal/e2e/rollout). The cluster needs
// room for twice the pods: a claim that one node mounts, a port of the host or
// a required anti-affinity keeps the new ones Pending, and the script stops at
// its deadline. A Deployment whose maxSurge is 0 has no plan.
//
// Two other methods are not here, because Argo Rollouts has them as
// spec.workloadRef:
//
//   - Without room for twice the pods, apply the Rollout with a workloadRef and
//     scaleDown: progressively, and without an autoscaler, which the controller
//     works against.
//   - To keep the Deployment as the source of the template, apply the Rollout
//     with a workloadRef and scaleDown: onsuccess. Going back, set it to never,
//     scale the Deployment up, wait, and delete the Rollout.
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
//	  verbs: [get, list, patch]
//
// A ScaledObject needs get and patch on scaledobjects of keda.sh too.
//
// # When not to use it
//
// If nothing runs yet, apply the Rollout. If a moment without pods is fine, so
// is an apply of the other kind.
package plan
