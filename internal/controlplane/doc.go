// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane starts a real Kubernetes control plane on this machine, for tests and the demo.
//
// A fake client agrees with whatever its author believed; only a real API server refuses, conflicts, collects garbage
// and expires as production does. This one needs nothing but Go: package build compiles it once from Go modules.
//
//	cp, err := controlplane.Start(ctx, controlplane.Options{Log: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer cp.Stop()
//	client, err := kubernetes.NewForConfig(cp.Config())
//
// # What runs
//
// etcd, kube-apiserver with RBAC, kube-controller-manager with the controllers of Jobs, finished Jobs' TTL, CronJobs,
// garbage collection, namespaces and service accounts, and in place of a kubelet the stand-in of package kubelet:
// pods are bound, run, and end as their annotations say. No container is ever run. Service accounts exist, but
// are not injected into pods.
//
// Options adds to it: Nodes puts kube-scheduler and kwok in the place of the stand-in, for what has Deployments; ArgoRollouts
// prepares the controller of Argo Rollouts. They are built only where they are asked for. CONTROLLERKIT_KUBERNETES=1.35 in the
// environment takes Kubernetes of that minor version; package build says which there are.
//
// # Rules
//
// Everything listens on 127.0.0.1 or on a socket inside a temporary directory; the one program that cannot, the controller of Argo
// Rollouts, is refused outside of a network namespace of its own. Nothing reads KUBECONFIG, the home directory or
// a pod's environment: the only cluster touched is the one that was started. All of it ends with Stop, with the
// context, and with this process, however it dies. Logs stay in the directory when something failed, for a day, or for an hour
// when this process was killed; the next Start then removes them. Install CRDs with
// InstallCRDs: the garbage collector would otherwise take 40 seconds to follow owner references of a new kind.
//
// # When not to use it
//
// When the code under test needs containers, pod networking or admission of service accounts.
package controlplane
