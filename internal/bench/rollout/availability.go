// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/rollout/live"
)

// availability counts the requests that find out whether a cluster serves
// Rollouts.
func availability() (m bench.Measure, stop func(), err error) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"argoproj.io/v1alpha1","resources":[` +
			`{"name":"applications","kind":"Application","namespaced":true},{"name":"rollouts","kind":"Rollout","namespaced":true}]}`))
	}))
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		server.Close()
		return m, nil, err
	}
	return bench.Measure{
		Name: "ask whether Rollouts are served", Gates: []bench.Gate{{Unit: bench.Requests, Limit: "= 1"}},
		Ours: bench.Subject{Do: bench.Each(func() error { return live.Available(client) }), Requests: requests.Load},
	}, server.Close, nil
}
