// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// authority signs the certificates of one control plane. It dies with it:
// nothing outside ever trusts it.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// keyPair is a certificate and its key, PEM.
type keyPair struct{ certificate, key []byte }

// newAuthority makes a certificate authority.
func newAuthority() (*authority, error) {
	template := certificate(pkix.Name{CommonName: "controlplane"})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	a := &authority{certificate: template}
	pair, err := a.issue(template)
	if err != nil {
		return nil, err
	}
	a.pem = pair.certificate
	return a, nil
}

// server issues a certificate for servers on the loopback address.
func (a *authority) server() (keyPair, error) {
	template := certificate(pkix.Name{CommonName: "localhost"})
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return a.issue(template)
}

// client issues a certificate whose holder is name, a member of groups, to the
// API server.
func (a *authority) client(name string, groups []string) (keyPair, error) {
	template := certificate(pkix.Name{CommonName: name, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// certificate is what all of them share. The past hour allows for a clock that
// is set back while tests run.
func certificate(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		Subject:   subject,
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().AddDate(1, 0, 0),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

// issue signs template with a new key; the authority's own certificate signs
// itself.
func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	if template.IsCA {
		a.key = key
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return keyPair{}, fmt.Errorf("controlplane: serial number: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("controlplane: certificate of %s: %w", template.Subject.CommonName, err)
	}
	return keyPair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyPEM}, nil
}

// newKey makes a private key. It also serves to sign the tokens of service
// accounts.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("controlplane: key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("controlplane: key: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
