// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// show prints the series of a scrape that contain part.
func show(h http.Handler, part string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for line := range strings.Lines(w.Body.String()) {
		if line[0] != '#' && strings.Contains(line, part) {
			fmt.Print(line)
		}
	}
}

func Example() {
	ep, err := prom.New(prom.Options{Resource: map[string]string{"service.name": "agents"}})
	if err != nil {
		return
	}
	m, err := metrics.New(ep, metrics.Options{})
	if err != nil {
		return
	}
	lease, err := m.Lease("agents")
	if err != nil {
		return
	}
	lease.Set(true)
	show(ep, "controller_leader")
	// Output: controller_leader{lease="agents"} 1
}

func ExampleNew() {
	_, err := prom.New(prom.Options{Timeout: -1})
	fmt.Println(err)
	// Output: metrics/prom: invalid option: Options.Timeout: -1ns is not accepted; want a positive duration, or 0 for 5s
}

// The metrics of another library on the same page.
func ExampleOptions() {
	theirs := prometheus.NewRegistry() // controller-runtime's metrics.Registry, for example
	up := prometheus.NewGauge(prometheus.GaugeOpts{Name: "theirs_up", Help: "1."})
	up.Set(1)
	if err := theirs.Register(up); err != nil {
		return
	}
	ep, err := prom.New(prom.Options{Gatherers: []prometheus.Gatherer{theirs}})
	if err != nil {
		return
	}
	show(ep, "theirs")
	// Output: theirs_up 1
}

func ExampleEndpoint_Serve() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	ep, err := prom.New(prom.Options{})
	if err != nil {
		return
	}
	served := make(chan error)
	go func() { served <- ep.Serve(ctx, l) }()
	resp, err := http.Get("http://" + l.Addr().String() + "/metrics")
	if err != nil {
		return
	}
	fmt.Println(resp.Status, resp.Body.Close())
	cancel()
	fmt.Println(<-served)
	// Output:
	// 200 OK <nil>
	// <nil>
}

// An endpoint that asks for a bearer token.
func ExampleEndpoint_ServeHTTP() {
	ep, err := prom.New(prom.Options{})
	if err != nil {
		return
	}
	want := []byte("Bearer " + "s3cret")
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		ep.ServeHTTP(w, r)
	})
	for _, token := range []string{"", "Bearer s3cret"} {
		r, w := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody), httptest.NewRecorder()
		r.Header.Set("Authorization", token)
		guarded.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 401
	// 200
}

func ExampleEndpoint_Shutdown() {
	ep, err := prom.New(prom.Options{})
	if err != nil {
		return
	}
	fmt.Println(ep.Shutdown(context.Background()))
	// Output: <nil>
}

// The endpoint is a meter provider for other libraries too.
func ExampleEndpoint_Meter() {
	ep, _ := prom.New(prom.Options{})
	visits, _ := ep.Meter("github.com/example/door").Int64Counter("door.visits")
	visits.Add(context.Background(), 2)
	show(ep, "door_visits")
	// Output: door_visits_total 2
}
