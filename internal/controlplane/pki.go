// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authority signs the certificates of one control plane. It dies with it:
// nothing outside ever trusts it.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// newAuthority makes a certificate authority. The past hour is for a process
// whose clock is behind.
func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("controlplane: %w", err)
	}
	config := cert.Config{CommonName: "controlplane", NotBefore: time.Now().Add(-time.Hour)}
	certificate, err := cert.NewSelfSignedCACert(config, key)
	if err != nil {
		return nil, fmt.Errorf("controlplane: %w", err)
	}
	pem, err := cert.EncodeCertificates(certificate)
	return &authority{certificate, key, pem}, err
}

// issue returns a new certificate and its key as PEM. Its holder is name, a
// member of groups, to the API server. Servers on the loopback address use such
// certificates too.
func (a *authority) issue(name string, groups ...string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("controlplane: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		NotBefore:   a.certificate.NotBefore,
		NotAfter:    a.certificate.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("controlplane: certificate of %s: %w", name, err)
	}
	if certificate, err = cert.EncodeCertificates(&x509.Certificate{Raw: der}); err != nil {
		return nil, nil, fmt.Errorf("controlplane: %w", err)
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return certificate, key, err
}
