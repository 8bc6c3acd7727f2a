// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// admission answers like an API server whose webhook quotes the run's Secret
// when it refuses the Job. It notes the Events that are written.
type admission struct {
	*server
	secret   map[string][]byte
	creating func()       // called while the Job is being created
	refusal  func() error // of the creation
	looking  error        // of the read of the Job afterwards, nil for a 404
	events   []string
}

func (a *admission) RoundTrip(r *http.Request) (*http.Response, error) {
	refuse := func(err error) (*http.Response, error) {
		failed, ok := errors.AsType[*apierrors.StatusError](err)
		if !ok {
			return nil, err
		}
		failed.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return reply(r, int(failed.ErrStatus.Code), failed.ErrStatus)
	}
	switch {
	case strings.Contains(r.URL.Path, "/secrets/"):
		return reply(r, http.StatusOK, corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: a.secret})
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs"):
		if a.creating != nil {
			a.creating()
		}
		return refuse(a.refusal())
	case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/jobs/") && a.looking != nil:
		return nil, a.looking
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events"):
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		a.events = append(a.events, string(body))
		written := eventsv1.Event{TypeMeta: metav1.TypeMeta{APIVersion: "events.k8s.io/v1", Kind: "Event"}}
		written.Name = "nightly.1"
		return reply(r, http.StatusCreated, written)
	}
	return a.server.RoundTrip(r)
}

// spans notes the error of each span.
type spans struct {
	noop.Tracer
	said *[]string
}

func (s spans) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	span := spanOf{said: s.said}
	return trace.ContextWithSpan(ctx, span), span
}

type spanOf struct {
	noop.Span
	said *[]string
}

func (s spanOf) RecordError(err error, _ ...trace.EventOption) {
	*s.said = append(*s.said, err.Error())
}

// attempted is what one attempt at a run left behind.
type attempted struct {
	err, status string
	log, spans  []string
	events      []string
}

// attemptOn reconciles the run once, and then writes the queued Events.
func attemptOn(t *testing.T, a *admission, run *v1alpha1.AgentRun, set func(*Controller)) (out attempted) {
	t.Helper()
	c := a.controllerOn(t, a, Options{})
	c.options.Tracer = spans{said: &out.spans}
	if set != nil {
		set(c)
	}
	log := funcr.New(func(_, line string) { out.log = append(out.log, line) }, funcr.Options{Verbosity: 1})
	ctx := logr.NewContext(t.Context(), log)
	_, err := c.reconcile(ctx, keyOf(run))
	if err != nil {
		out.err = err.Error()
	}
	text, err := json.Marshal(a.runs[run.Name].Status)
	require.NoError(t, err)
	out.status = string(text)
	recording, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	require.NoError(t, c.recorder.Start(recording))
	out.events = a.events
	return out
}

// pushedOut fills the shared set with the values of other runs.
func pushedOut(c *Controller) {
	for i := range 1100 {
		c.secrets.Add([]byte("value-of-another-run-" + strconv.Itoa(i)))
	}
}

//req:shows S4
func TestAttempt_MasksItsSecretThatTheSharedSetDropped(t *testing.T) {
	const value = "canary-5f1d7c2e9b"
	quotes := errors.New("the policy refuses AGENT_SECRET=" + value + " and canary-5f1d7c2e9b")
	tests := map[string]struct {
		reason  string
		refusal error
		looking error
		kind    string
	}{
		"Broken": {"A failed webhook quotes what it has read.", apierrors.NewInternalError(quotes), nil, events.Unavailable},
		"Policy": {"A policy quotes it.", apierrors.NewForbidden(corev1.Resource("jobs"), "run-uid-1", quotes), nil, events.Forbidden},
		"Conflict": {
			"A conflict is not reported yet, and is logged.",
			apierrors.NewConflict(corev1.Resource("jobs"), "run-uid-1", quotes), nil, events.Conflict,
		},
		"NoAnswer": {
			"The refusal is quoted although the request after it had no answer.",
			apierrors.NewInternalError(quotes), errors.New("connection reset by peer"), events.Unavailable,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newRun("nightly", "uid-1")
				run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "s", Key: "token"}
				var c *Controller
				a := &admission{server: newServer(run), secret: map[string][]byte{"token": []byte(value)}, looking: tc.looking}
				a.creating = func() { pushedOut(c) }
				a.refusal = func() error { return tc.refusal }
				out := attemptOn(t, a, run, func(made *Controller) { c = made })
				require.NotEmpty(t, out.err)
				require.NotEmpty(t, out.log)
				for _, text := range append(append(append(out.log, out.spans...), out.events...), out.err, out.status) {
					assert.NotContains(t, text, value, tc.reason)
				}
				assert.Contains(t, strings.Join(out.log, "\n"), "[redacted]", "the rest of the text is logged")
				if tc.kind != events.Conflict && tc.looking == nil {
					assert.Len(t, out.events, 1)
					assert.Contains(t, out.status, "[redacted]")
				}
			})
		})
	}
}

// TestAttempt_ReleasesItsSecret: otherwise each value would stay in memory
// forever.
func TestAttempt_ReleasesItsSecret(t *testing.T) {
	const value = "canary-5f1d7c2e9b"
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly", "uid-1")
		run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "s", Key: "token"}
		var c *Controller
		a := &admission{server: newServer(run), secret: map[string][]byte{"token": []byte(value)}}
		a.refusal = func() error { return apierrors.NewInternalError(errors.New("found " + value)) }
		attemptOn(t, a, run, func(made *Controller) { c = made })
		require.Equal(t, "it is [redacted]", c.secrets.Redact("it is "+value))
		pushedOut(c)
		assert.Equal(t, "it is "+value, c.secrets.Redact("it is "+value))
	})
}
