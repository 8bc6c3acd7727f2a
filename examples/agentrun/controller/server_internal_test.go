// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
)

// server answers as the API server does: it holds runs, whose status it patches
// where the version is right, and the Jobs that job gives.
type server struct {
	mu      sync.Mutex
	version int
	runs    map[string]*v1alpha1.AgentRun
	writes  map[string]int // of each run's status

	job   func(name string) *batchv1.Job // what a live read finds; nil: there is none
	wrote func(*v1alpha1.AgentRun)       // called for each watch event; nil without a watch
	lose  bool                           // the next write is not answered

	meters metric.MeterProvider // of its controllers; nil: nothing is measured
}

func newServer(runs ...*v1alpha1.AgentRun) *server {
	s := &server{version: 100, runs: map[string]*v1alpha1.AgentRun{}, writes: map[string]int{}}
	for _, run := range runs {
		run.ResourceVersion = "100"
		s.runs[run.Name] = run.DeepCopy()
	}
	return s
}

// controller has the server's runs in its cache. Nothing in the cache changes
// by itself.
func (s *server) controller(t *testing.T) *Controller {
	t.Helper()
	return s.controllerOn(t, s, Options{})
}

// controllerOn sends its requests over transport.
func (s *server) controllerOn(t *testing.T, transport http.RoundTripper, o Options) *Controller {
	t.Helper()
	m, err := metrics.New(cmp.Or[metric.MeterProvider](s.meters, noop.NewMeterProvider()), metrics.Options{})
	require.NoError(t, err)
	c, err := New(&rest.Config{Host: "http://127.0.0.1", Transport: transport, QPS: -1}, m, o)
	require.NoError(t, err)
	for _, scope := range c.scopes {
		scope.guard, err = jobgc.New(c.cluster.BatchV1().Jobs, scope.cachedJob, unstarted{scope.jobs}, c.jobOptions())
		require.NoError(t, err)
	}
	s.refresh(t, c)
	return c
}

// unstarted is an informer that a test does not start: its handlers have always
// received the first list.
type unstarted struct{ cache.SharedIndexInformer }

// AddEventHandler registers a handler.
func (u unstarted) AddEventHandler(h cache.ResourceEventHandler) (unstarted, error) {
	_, err := u.SharedIndexInformer.AddEventHandler(h)
	return u, err
}

// HasSynced is the method of a registration.
func (unstarted) HasSynced() bool { return true }

// refresh brings a controller's cache what is stored.
func (s *server) refresh(t *testing.T, c *Controller) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.runs {
		require.NoError(t, c.scopes[0].runs.GetStore().Add(run.DeepCopy()))
	}
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, err := s.answer(r)
	if s.lose && r.Method == http.MethodPatch {
		s.lose = false
		return nil, errors.New("connection reset by peer")
	}
	if failed, ok := errors.AsType[*apierrors.StatusError](err); ok {
		failed.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return reply(r, int(failed.ErrStatus.Code), failed.ErrStatus)
	}
	if err != nil {
		return nil, err
	}
	return reply(r, http.StatusOK, answer)
}

func (s *server) answer(r *http.Request) (any, error) {
	name := path.Base(strings.TrimSuffix(r.URL.Path, "/status"))
	switch {
	case r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status") && s.runs[name] != nil:
		return s.patch(s.runs[name], r.Body)
	case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/agentruns/") && s.runs[name] != nil:
		return s.runs[name], nil
	case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/jobs/"):
		if s.job == nil {
			return nil, apierrors.NewNotFound(batchv1.Resource("jobs"), name)
		}
		return s.job(name), nil
	}
	return nil, fmt.Errorf("a request that must not be made: %s %s", r.Method, r.URL.Path)
}

// patch merges a patch into a run: RFC 7386.
func (s *server) patch(run *v1alpha1.AgentRun, body io.Reader) (any, error) {
	var stored, change map[string]any
	text, err := json.Marshal(run)
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err == nil {
		err = json.NewDecoder(body).Decode(&change)
	}
	if err != nil || len(change) == 0 {
		return run, err
	}
	if at, _ := change["metadata"].(map[string]any); at["resourceVersion"] != run.ResourceVersion {
		return nil, apierrors.NewConflict(v1alpha1.GroupVersion().WithResource("agentruns").GroupResource(), run.Name, fmt.Errorf("it is at %s", run.ResourceVersion))
	}
	merge(stored, change)
	if text, err = json.Marshal(stored); err != nil {
		return nil, err
	}
	now := new(v1alpha1.AgentRun)
	if err := json.Unmarshal(text, now); err != nil {
		return nil, err
	}
	s.version++
	s.writes[run.Name]++
	now.ResourceVersion = strconv.Itoa(s.version)
	s.runs[run.Name] = now
	if s.wrote != nil {
		s.wrote(now.DeepCopy())
	}
	return now, nil
}

func merge(into, change map[string]any) {
	for key, value := range change {
		inner, isMap := value.(map[string]any)
		has, hasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && hasMap:
			merge(has, inner)
		default:
			into[key] = value
		}
	}
}

func reply(r *http.Request, code int, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Request: r, Body: io.NopCloser(bytes.NewReader(text)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

// newStarted is a run whose Job exists and is recorded; the Job runs where it
// has begun.
func newStarted(name string, begun *metav1.Time) (*v1alpha1.AgentRun, *batchv1.Job) {
	run := newRun(name, types.UID(name))
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: "run-" + string(run.UID), UID: "job-of-" + run.UID}}
	job.Spec.Suspend, job.Status.StartTime = new(false), begun
	run.Status.JobRef = &jobgc.Ref{Namespace: run.Namespace, Name: job.Name, UID: job.UID}
	setPhase(run, v1alpha1.Pending, reasonWaiting, "", time.Now())
	return run, job
}
