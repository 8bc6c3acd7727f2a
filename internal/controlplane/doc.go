// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane starts a real Kubernetes control plane on this machine,
// for tests and the demo.
//
// A fake client behaves as its author expected. Only a real API server refuses,
// conflicts, collects garbage and expires as in production. This one needs only
// Go: package build compiles it once from Go modules.
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
// etcd, kube-apiserver with RBAC, kube-controller-manager with the controllers
// of Jobs, finished Jobs' TTL, garbage collection, namespaces and service
// accounts, and the fake kubelet of package kubelet. It binds pods, runs them
// and ends them as their annotations say. No container ever runs. Service
// accounts exist, but are not injected into pods.
//
// Options.ArgoRollouts prepares the controller of Argo Rollouts, and replaces
// the fake kubelet with kube-scheduler and kwok, which are built only on
// request. CONTROLLERKIT_KUBERNETES=1.35 in the environment selects that minor
// version of Kubernetes; package build lists them.
//
// # Rules
//
// Everything listens on 127.0.0.1 or on a socket in a temporary directory. The
// controller of Argo Rollouts cannot do that, so it is refused outside a
// separate network namespace. No program reads KUBECONFIG, the home directory
// or a pod's environment: the tests touch only the cluster that they started.
// Everything ends with Stop, with the context, and with this process, even if
// the process is killed. Logs stay in the directory if something failed or this
// process was killed. Install CRDs with InstallCRDs: otherwise the garbage
// collector takes 40 seconds to follow owner references of a new kind.
//
// # When not to use it
//
// When the code under test needs containers, pod networking or admission of
// service accounts.
package controlplane
