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
)

// masters is the group that RBAC does not bind.
const masters = "system:masters"

// Config returns a configuration with all rights and no client-side rate limit.
// Each call returns a fresh copy.
func (cp *ControlPlane) Config() *rest.Config { return rest.CopyConfig(cp.admin) }

// Kubeconfig returns the path of a kubeconfig file with all rights, for kubectl
// and other programs.
func (cp *ControlPlane) Kubeconfig() string { return filepath.Join(cp.dir, kubeconfigFile) }

// User returns a configuration of another identity, with no client-side rate
// limit. It proves itself by a client certificate, and has the rights that RBAC
// grants to the name and to the groups; system:authenticated is always among
// them. An empty name is an error.
func (cp *ControlPlane) User(name string, groups ...string) (*rest.Config, error) {
	if name == "" {
		return nil, fmt.Errorf("controlplane: a user needs a name")
	}
	pair, err := cp.pki.client(name, groups)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:  "https://" + loopback + ":" + strconv.Itoa(cp.ports[0].number),
		QPS:   -1,
		Burst: -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   cp.pki.pem,
			CertData: pair.certificate,
			KeyData:  pair.key,
		},
	}, nil
}

// WriteKubeconfig writes config, as [ControlPlane.User] returns it, to a
// kubeconfig file for a program of that user. Only the owner may read the file.
// It replaces a file at path.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "controlplane"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	file.CurrentContext = name
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	return nil
}

// writeFiles puts the keys and the kubeconfig files into the directory.
func (cp *ControlPlane) writeFiles() error {
	serving, err := cp.pki.server()
	if err != nil {
		return err
	}
	_, signing, err := newKey()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		caFile:      cp.pki.pem,
		servingCert: serving.certificate,
		servingKey:  serving.key,
		serviceKey:  signing,
	} {
		if err := os.WriteFile(filepath.Join(cp.dir, name), content, 0o600); err != nil {
			return fmt.Errorf("controlplane: %w", err)
		}
	}
	if cp.admin, err = cp.User("controlplane-admin", masters); err != nil {
		return err
	}
	if err := cp.writeIdentity("kube-controller-manager"); err != nil {
		return err
	}
	return WriteKubeconfig(cp.Kubeconfig(), cp.admin)
}

// writeIdentity writes the kubeconfig file of one of Kubernetes' own programs,
// which has all rights.
func (cp *ControlPlane) writeIdentity(program string) error {
	config, err := cp.User("system:"+program, masters)
	if err != nil {
		return err
	}
	return WriteKubeconfig(filepath.Join(cp.dir, program+".kubeconfig"), config)
}
