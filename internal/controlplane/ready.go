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
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "etcd.sock"))
	}
	return answers(&rest.Config{Dial: dial}, "http://etcd/health")
}

// apiServerReady also waits for the default namespace, which comes shortly
// after the server says that it is ready.
func apiServerReady(admin *rest.Config) probe {
	return answers(admin, admin.Host+"/readyz", admin.Host+"/api/v1/namespaces/default")
}

// healthy asks for the health of the controller manager or the scheduler, which
// they show to anybody.
func healthy(pki *authority, port int) probe {
	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: pki.pem}}
	return answers(config, "https://"+loopback+":"+strconv.Itoa(port)+"/healthz")
}

// answers succeeds if each answer is 200 within two seconds; a frozen process
// answers never. It uses new connections: earlier ones may lead to a server
// that is gone.
func answers(config *rest.Config, urls ...string) probe {
	return func(ctx context.Context) error {
		tls, err := rest.TLSConfigFor(config)
		if err != nil {
			return err
		}
		client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{
			TLSClientConfig: tls, DialContext: config.Dial, DisableKeepAlives: true,
		}}
		for _, url := range urls {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			response, err := client.Do(request)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK {
				return fmt.Errorf("GET %s: %s: %s", url, response.Status, body)
			}
		}
		return nil
	}
}
