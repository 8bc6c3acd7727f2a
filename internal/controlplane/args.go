// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Files of the control plane's directory.
const (
	etcdData       = "etcd"
	etcdSocket     = "etcd.sock"
	caFile         = "ca.crt"
	servingCert    = "serving.crt"
	servingKey     = "serving.key"
	serviceKey     = "service-accounts.key"
	kubeconfigFile = "kubeconfig"

	auditPolicyFile = "audit-policy"
	auditFile       = "audit.log"
)

const loopback = "127.0.0.1"

// etcdArgs are for an etcd that serves on a socket in dir, so that only the
// owner of dir can reach it. The advertised address is for other members, which
// do not exist. No fsync: the data has to survive the process, but not the
// machine.
func etcdArgs(dir string) []string {
	return []string{
		"--data-dir=" + filepath.Join(dir, etcdData),
		"--listen-client-urls=unix://" + filepath.Join(dir, etcdSocket),
		"--advertise-client-urls=http://localhost:2379",
		"--listen-peer-urls=unix://etcd-peer.sock:0", // relative to dir; etcd takes no path here
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func apiServerArgs(dir string, port int) []string {
	file := func(name string) string { return filepath.Join(dir, name) }
	return []string{
		"--etcd-servers=unix://" + file(etcdSocket),
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		"--permit-port-sharing=true", // see port
		"--tls-cert-file=" + file(servingCert),
		"--tls-private-key-file=" + file(servingKey),
		"--client-ca-file=" + file(caFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + file(serviceKey),
		"--service-account-signing-key-file=" + file(serviceKey),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none", // no client uses the Service of the API server
		// ServiceAccount would add token volumes to pods, which nothing mounts.
		// The taint would keep the only node unready.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		"--allow-privileged=true",
	}
}

// auditArgs has the API server note requests by the policy, in one file however
// many there are: it would begin another at 100 MB.
func auditArgs(dir string) []string {
	return []string{
		"--audit-policy-file=" + filepath.Join(dir, auditPolicyFile),
		"--audit-log-path=" + filepath.Join(dir, auditFile),
		"--audit-log-maxsize=1000000",
	}
}

// controllerManagerArgs gives the controllers the administrator's rights and no
// rate limit that a test would notice.
func controllerManagerArgs(dir string, port int, more []string) []string {
	file := func(name string) string { return filepath.Join(dir, name) }
	controllers := append([]string{
		"job-controller", "ttl-after-finished-controller", "cronjob-controller",
		"garbage-collector-controller", "namespace-controller",
		"pod-garbage-collector-controller", "serviceaccount-controller",
	}, more...)
	return []string{
		"--kubeconfig=" + file("kube-controller-manager.kubeconfig"),
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		"--permit-port-sharing=true",
		"--tls-cert-file=" + file(servingCert),
		"--tls-private-key-file=" + file(servingKey),
		"--leader-elect=false",
		"--service-account-private-key-file=" + file(serviceKey),
		"--controllers=" + strings.Join(controllers, ","),
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--concurrent-job-syncs=20",
		"--concurrent-ttl-after-finished-syncs=20",
	}
}
