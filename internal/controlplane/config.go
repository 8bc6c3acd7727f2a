// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

// masters is the group that RBAC does not bind.
const masters = "system:masters"

// Config returns a configuration with all rights and no client-side rate limit.
// Each call returns a fresh copy.
func (cp *ControlPlane) Config() *rest.Config { return rest.CopyConfig(cp.admin) }

// Kubeconfig returns the path of a kubeconfig file with all rights, for kubectl
// and other programs.
func (cp *ControlPlane) Kubeconfig() string { return filepath.Join(cp.dir, "kubeconfig") }

// User returns a configuration of another identity, with no client-side rate
// limit. It proves itself by a client certificate, and has the rights that RBAC
// grants to the name and to the groups; system:authenticated is always among
// them.
func (cp *ControlPlane) User(name string, groups ...string) (*rest.Config, error) {
	certificate, key, err := cp.pki.issue(name, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:  "https://" + loopback + ":" + strconv.Itoa(cp.ports[0].number),
		QPS:   -1,
		Burst: -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   cp.pki.pem,
			CertData: certificate,
			KeyData:  key,
		},
	}, nil
}

// WriteKubeconfig writes config, as [ControlPlane.User] returns it or with a
// bearer token, to a kubeconfig file for a program of that user. Only the owner
// may read the file. It replaces a file at path.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "controlplane"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
	}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	file.CurrentContext = name
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	return nil
}

// writeFiles puts the keys and the kubeconfig files into the directory.
func (cp *ControlPlane) writeFiles() error {
	certificate, key, err := cp.pki.issue("localhost")
	if err != nil {
		return err
	}
	signing, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	for name, content := range map[string][]byte{
		"ca.crt":               cp.pki.pem,
		"serving.crt":          certificate,
		"serving.key":          key,
		"service-accounts.key": signing,
	} {
		if err := os.WriteFile(filepath.Join(cp.dir, name), content, 0o600); err != nil {
			return fmt.Errorf("controlplane: %w", err)
		}
	}
	if cp.admin, err = cp.User("controlplane-admin", masters); err != nil {
		return err
	}
	const user = "system:kube-controller-manager"
	if err := cp.writeIdentity(build.ControllerManager, user, masters); err != nil {
		return err
	}
	return WriteKubeconfig(cp.Kubeconfig(), cp.admin)
}

// writeIdentity writes the kubeconfig file of a program.
func (cp *ControlPlane) writeIdentity(program, user string, groups ...string) error {
	config, err := cp.User(user, groups...)
	if err != nil {
		return err
	}
	return WriteKubeconfig(cp.identity(program), config)
}

// identity returns the path of a program's kubeconfig file.
func (cp *ControlPlane) identity(program string) string {
	return filepath.Join(cp.dir, program+".kubeconfig")
}
