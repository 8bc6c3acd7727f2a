// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan switches a running workload from a Deployment to a Rollout, and
// back, without losing a pod.
//
// To apply the other kind causes an outage: the old pods are deleted before the
// new ones are ready. A plan is a list of steps that keeps the old pods until
// the new ones are ready. Each step has the wait that must hold before the next
// one:
//
//	r, errs := rollout.Convert(manifest, rollout.Options{})              // the rendered Deployment, with the image that runs
//	p, errs := plan.Migration(liveDeployment, r, hpas, plan.Options{})   // the live Deployment
//	fmt.Print(p)                                                         // a script for sh or bash: read it, then run it
//
// [Rollback] plans the return. Of a workload without a status, such as a
// rendered one, both make a preview: its script stops at the first step.
//
// # A script is safe to run late, again, or by another person
//
// The first step compares the uid, the generation, the replicas, the images and
// the selector of the live workload with the ones in the plan. If an autoscaler
// has scaled it since, or a release has come, the script prints the difference
// and stops before it changes anything. The same check comes again before each
// step that takes pods away. A script that was interrupted can be run again
// from its start: it skips the finished steps, and ends in the same state. It
// never applies a workload that exists, so it does not conflict with an
// autoscaler, and it never forces a conflict. A request that fails stops it: no
// answer does not mean that an object is not there. Each wait has a deadline
// and says what it waits for. The header says how to go back, and up to which
// step a command is enough.
//
// The first revision of a Rollout goes through no steps. Migration therefore
// compares the two pod templates, as Rollback does: another image or a
// container more or less is an error. Every other difference, beyond what a
// server fills in, is a warning that names the fields. There is one warning for
// each tool whose labels, annotations or field managers the workload or its
// autoscaler has. kubectl get shows field managers with --show-managed-fields.
//
// A Deployment whose maxSurge is 0 and whose pods use a PersistentVolumeClaim,
// a hostPort or hostNetwork has no plan: every method runs a pod more for a
// while.
//
// Nothing here talks to a cluster. With N replicas, the ready endpoints of a
// Service were these in both directions, while both real controllers carried
// out the plans (internal/e2e/rollout):
//
//	method      ready pods       what it needs
//	SideBySide  N .. 2N          room for twice the pods
//	Adopt       N .. N+maxSurge  maxUnavailable 0; Rollouts v1.10 looks for a label, and gets it
//	Reference   N .. 2N          the Deployment stays, with 0 pods, as the source of the template
//
// Adopt needs maxUnavailable 0 and maxSurge 1 on both workloads. The zero
// rollout.Options set them on the Rollout. A Deployment has 25% by default,
// with which Rollback refuses to adopt: set them before the switch, and plan
// both directions in one unit test.
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
// is an apply of the other kind. A weight is a share of pods, not of the work:
// if a controller elects a leader, the pods of the canary mostly wait.
package plan
