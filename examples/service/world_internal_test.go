// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"sigs.k8s.io/yaml"
)

//go:embed role.yaml
var role string

// rules are the rules of the documented role, and of its Role for the lease.
func rules(t *testing.T) (all []rbacv1.PolicyRule) {
	t.Helper()
	for document := range strings.SplitSeq(role, "\n---\n") {
		var r rbacv1.ClusterRole
		require.NoError(t, yaml.Unmarshal([]byte(document), &r))
		all = append(all, r.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

func newAPI(t *testing.T) *api {
	t.Helper()
	// A queue of client-go v0.34 sees each half second whether it was shut down.
	t.Cleanup(func() { time.Sleep(time.Second) })
	return &api{
		objects: map[string]object{}, watches: map[chan object]request{}, hung: map[chan object]bool{},
		used: map[string]bool{}, allowed: rules(t),
	}
}

// process is a service that runs in a synctest bubble.
type process struct {
	log   lockedBuffer
	pipes pipes
	stop  context.CancelFunc
	ended chan error
}

// start runs a service. In a bubble the sleep of a minute takes no time, and
// then everything has happened.
func start(t *testing.T, a *api) *process {
	t.Helper()
	p := &process{pipes: pipes{conns: make(chan net.Conn), closed: make(chan struct{})}, ended: make(chan error, 1)}
	ctx := logr.NewContextWithSlogLogger(t.Context(), slog.New(slog.NewJSONHandler(&p.log, nil)))
	ctx, p.stop = context.WithCancel(ctx)
	go func() { p.ended <- serve(ctx, a.config(), "reports", &p.pipes) }()
	time.Sleep(time.Second)
	return p
}

// end stops the service, and returns what it returns.
func (p *process) end() error {
	p.stop()
	return <-p.ended
}

// get reads a page of the service.
func (p *process) get(t *testing.T, path string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: p.pipes.dial, DisableKeepAlives: true}}
	return read(t, client, "http://service"+path)
}

// value returns the value of a series.
func value(page, series string) string {
	_, rest, _ := strings.Cut(page, "\n"+series+" ")
	number, _, _ := strings.Cut(rest, "\n")
	return number
}

func read(t require.TestingT, client *http.Client, url string) string {
	resp, err := client.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

// pipes is a listener without a network.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.conns <- far
	return near, nil
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// lockedBuffer keeps what several goroutines log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

const monthly = "service.example.com/default/reports/monthly"

func newReport() *Report {
	return &Report{
		TypeMeta:   metav1.TypeMeta{APIVersion: groupVersion.String(), Kind: "Report"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "monthly"},
		Spec:       ReportSpec{Image: "example.com/report:1", Command: []string{"report"}},
	}
}

// report returns the stored Report.
func (a *api) report(t *testing.T) *Report {
	t.Helper()
	r := new(Report)
	require.True(t, a.read(t, monthly, r))
	return r
}

// job returns the stored Job of the Report.
func (a *api) job(t *testing.T) *batchv1.Job {
	t.Helper()
	job := new(batchv1.Job)
	require.True(t, a.read(t, "batch/default/jobs/"+a.report(t).Status.Job.Name, job))
	return job
}

// setJob stores a status of the Job.
func (a *api) setJob(t *testing.T, set func(*batchv1.JobStatus)) {
	t.Helper()
	job := a.job(t)
	set(&job.Status)
	a.put(t, "batch/default/jobs/"+job.Name, job)
	time.Sleep(time.Second)
}

func completed(s *batchv1.JobStatus) {
	now := metav1.Now()
	s.CompletionTime = &now
	s.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}
}

// events returns the stored Events by reason.
func (a *api) events(t *testing.T) map[string]eventsv1.Event {
	t.Helper()
	a.mu.Lock()
	var paths []string
	for path := range a.objects {
		if strings.HasPrefix(path, "events.k8s.io/default/events/") {
			paths = append(paths, path)
		}
	}
	a.mu.Unlock()
	all := map[string]eventsv1.Event{}
	for _, path := range paths {
		var e eventsv1.Event
		require.True(t, a.read(t, path, &e))
		assert.Equal(t, "Report", e.Regarding.Kind)
		assert.NotContains(t, all, e.Reason, "one Event for each reason")
		all[e.Reason] = e
	}
	return all
}

// set sets what the API server answers next.
func (a *api) setFault(fault func(request) (int, string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = fault
}

// TestMain drops client-go's pause after an error. It compares the clock of a
// synctest bubble with the real one.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] //nolint:reassign // it has no other option
	os.Exit(m.Run())
}
