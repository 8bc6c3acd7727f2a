// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
)

// probe asks a process once whether it is ready; nil means that it is.
type probe func(ctx context.Context) error

// etcdReady asks over etcd's socket.
func etcdReady(dir string) probe {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, etcdSocket))
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	return func(ctx context.Context) error { return get(ctx, client, "http://etcd/health") }
}

// apiServerReady also waits for the default namespace, which comes shortly
// after the server says that it is ready.
func apiServerReady(admin *rest.Config) probe {
	return func(ctx context.Context) error {
		client, err := newClient(admin)
		if err != nil {
			return err
		}
		if err := get(ctx, client, admin.Host+"/readyz"); err != nil {
			return err
		}
		return get(ctx, client, admin.Host+"/api/v1/namespaces/default")
	}
}

// healthy asks for the health of the controller manager or the scheduler, which
// they show to anybody.
func healthy(pki *authority, port int) probe {
	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: pki.pem}}
	url := "https://" + loopback + ":" + strconv.Itoa(port) + "/healthz"
	return func(ctx context.Context) error {
		client, err := newClient(config)
		if err != nil {
			return err
		}
		return get(ctx, client, url)
	}
}

// newClient makes a client that shares no connection with an earlier one: those
// may lead to a server that is gone.
func newClient(config *rest.Config) (*http.Client, error) {
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: tls, DisableKeepAlives: true}}, nil
}

// get succeeds if the answer is 200 within two seconds; a frozen process
// answers never.
func get(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", url, response.Status, body)
	}
	return nil
}
