// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/expire"
	"github.com/proompteng/controllerkit/jobgc/settings"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// mapped are manager options that need no API server.
func mapped() ctrl.Options {
	o := ctrl.Options{Logger: logr.Discard()}
	o.Metrics.BindAddress = "0"
	o.Controller.SkipNameValidation = new(true) // a test may run twice in one process
	o.MapperProvider = func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
		mapper := apimeta.NewDefaultRESTMapper(nil)
		mapper.Add(v1alpha1.GroupVersion().WithKind("AgentRun"), apimeta.RESTScopeNamespace)
		mapper.Add(batchv1.SchemeGroupVersion.WithKind("Job"), apimeta.RESTScopeNamespace)
		return mapper, nil
	}
	return o
}

// TestNewManager_ShowsTheRetentionsInForce: one log line, and gauges.
//
//req:shows J1
func TestNewManager_ShowsTheRetentionsInForce(t *testing.T) {
	var lines []string
	o := mapped()
	o.Logger = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	endpoint, err := prom.New(prom.Options{})
	require.NoError(t, err)
	m, err := metrics.New(endpoint, metrics.Options{})
	require.NoError(t, err)
	environment := map[string]string{"JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS": "0", "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS": "10m"}
	retention, err := settings.FromEnv(func(name string) (string, bool) { v, ok := environment[name]; return v, ok }, settings.JangarNames())
	require.NoError(t, err)
	_, _, err = NewManager(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, o, Options{Metrics: m, Retention: retention})
	require.NoError(t, err)
	require.Len(t, lines, 1)
	for _, want := range []string{"\"Retention\"", "10m0s", "\"runs\"=\"keep\"", "\"logs\"=\"168h0m0s\""} {
		assert.Contains(t, lines[0], want)
	}
	g := rig{page: endpoint}
	assert.Contains(t, g.metrics(t), "controller_retention_seconds{controller=\"agentrun\",of=\"job\"} 600")
	assert.Contains(t, g.metrics(t), "controller_worker_limit{controller=\"agentrun\"} 50")
}

func TestConcerns_IgnoresStatusWrites(t *testing.T) {
	before := newRun("nightly")
	before.ResourceVersion = "1"
	after := before.DeepCopy()
	after.ResourceVersion = "2"
	after.Status.Phase = v1alpha1.Running
	assert.False(t, concerns(event.UpdateEvent{ObjectOld: before, ObjectNew: after}))
	after.Generation++
	assert.True(t, concerns(event.UpdateEvent{ObjectOld: before, ObjectNew: after}), "A new spec causes a reconcile.")
}

// TestTrim_HoldsLittleOfALargeRun: hundreds of runs of 900 KiB must fit into
// the memory of the pod. The cache of a run without a Job is complete, so that
// its creation needs no other request.
func TestTrim_HoldsLittleOfALargeRun(t *testing.T) {
	text := strings.Repeat("x", 300<<10)
	large := newRun("nightly")
	large.Spec.Args = []string{text}
	large.Spec.Parameters = map[string]string{"text": text}
	large.Spec.PodAnnotations = map[string]string{"text": text}
	large.Spec.SecretRef = &v1alpha1.SecretRef{Name: "s", Key: "token"}
	size := func(run *v1alpha1.AgentRun) int {
		kept, err := trim(run.DeepCopy())
		require.NoError(t, err)
		assert.Equal(t, large.Spec.SecretRef, kept.(*v1alpha1.AgentRun).Spec.SecretRef, "It is needed to mask texts.")
		written, err := json.Marshal(kept)
		require.NoError(t, err)
		return len(written)
	}
	assert.Greater(t, size(large), 900<<10)
	large.Status.JobRef = &jobgc.Ref{Name: "run-1", UID: "1"}
	assert.Less(t, size(large), 2<<10)
	large.Status = v1alpha1.AgentRunStatus{Phase: v1alpha1.Failed}
	assert.Less(t, size(large), 2<<10)
}

// TestExpire_KeepsARetainedRun: the annotation must pass the transform of the
// cache that the Sweeper reads.
//
//req:shows J1
func TestExpire_KeepsARetainedRun(t *testing.T) {
	for keeps, annotations := range map[bool]map[string]string{true: {expire.RetainAnnotation: "true"}, false: {"note": "x"}} {
		run := newRun("nightly")
		run.Annotations = annotations
		run.Status.Phase = v1alpha1.Failed
		run.Status.FinishedAt = new(metav1.NewTime(time.Now().Add(-40 * 24 * time.Hour)))
		g := newRig(t, run)
		cached, err := trim(run)
		require.NoError(t, err)
		server := new(expire.ServerTime)
		_, err = server.Wrap(dated{}).RoundTrip(new(http.Request))
		require.NoError(t, err)
		require.NoError(t, g.Get(t.Context(), requestOf(run).NamespacedName, run)) // its resourceVersion
		all := func() []any { return []any{cached} }
		sweeper, err := expire.New(func(namespace string) runsIn { return runsIn{g.Client, namespace} }, all, finished, server, expire.Options{TTL: 30 * 24 * time.Hour})
		require.NoError(t, err)
		deleted, err := sweeper.Sweep(t.Context(), time.Now())
		require.NoError(t, err)
		assert.Equal(t, keeps, deleted == 0)
	}
}

// dated answers with the time.
type dated struct{}

// RoundTrip answers a request.
func (dated) RoundTrip(*http.Request) (*http.Response, error) {
	now := time.Now().UTC().Format(http.TimeFormat)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {now}}, Body: io.NopCloser(new(bytes.Buffer))}, nil
}

// TestWarnings_QuoteNoSecret: an admission webhook may quote what it was sent.
func TestWarnings_QuoteNoSecret(t *testing.T) {
	secrets := new(redact.SecretValues)
	secrets.Add([]byte("canary-5f1d7c2e9b"))
	var lines []string
	ctx := log.IntoContext(context.Background(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	w := maskedWarnings{secrets}
	w.HandleWarningHeaderWithContext(ctx, 299, "", "AGENT_SECRET is canary-5f1d7c2e9b")
	w.HandleWarningHeaderWithContext(ctx, 299, "", "")
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "AGENT_SECRET is [redacted]")
}
