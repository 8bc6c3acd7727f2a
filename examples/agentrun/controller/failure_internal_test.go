// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/metrics"
)

//req:shows E6
func TestAnOutageIsNoFailureOfARun(t *testing.T) {
	jobs := batchv1.Resource("jobs")
	refused := &url.Error{Op: "Post", URL: "https://127.0.0.1", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	forbidden := apierrors.NewForbidden(jobs, "", errors.New("not allowed"))
	tests := map[string]struct {
		reason string
		err    error
		during bool // a request had no answer a second ago
		want   bool
	}{
		"Refused":             {"The port is closed: all runs fail alike.", refused, false, true},
		"RefusedWrapped":      {"An error that jobgc wraps is the same.", fmt.Errorf("jobgc: ensure: %w", refused), false, true},
		"TimedOut":            {"The server does not answer.", context.DeadlineExceeded, false, true},
		"Forbidden":           {"The role lacks a rule, which an administrator has to add.", forbidden, false, false},
		"ForbiddenComingUp":   {"An API server that starts knows no roles.", forbidden, true, true},
		"NotServedComingUp":   {"It serves custom resources later.", apierrors.NewGenericServerResponse(404, "patch", jobs, "", "404 page not found", 0, true), true, true},
		"UnavailableComingUp": {"Nor does it reach its store.", apierrors.NewServiceUnavailable("starting"), true, true},
		"Unavailable":         {"A failing webhook is reported immediately.", apierrors.NewServiceUnavailable("webhook"), false, false},
		"InvalidComingUp":     {"It has read the Job, and refuses it.", apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), "x", nil), true, false},
		"OursComingUp":        {"What this controller finds wrong with a run is the run's.", &failure{events.MissingSecret, "none"}, true, false},
		"SomethingElse":       {"Not known to be of the server.", errors.New("a bug"), true, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var o apiServer
			now := time.Now()
			if tc.during {
				o.last.Store(now.Add(-time.Second).UnixNano())
			}
			assert.Equal(t, tc.want, o.explains(&maskedError{"redacted", tc.err}, now), tc.reason)
			if tc.want && !unanswered(tc.err) {
				assert.False(t, o.explains(tc.err, now.Add(startupTime)), "a lasting failure is reported")
			}
		})
	}
}

// The caches see an outage first. When the server is back, it may refuse the
// first reconcile, and that is not the fault of its run.
func TestAnOutageThatOnlyTheCachesSawIsNoFailureOfARun(t *testing.T) {
	forbidden := apierrors.NewForbidden(batchv1.Resource("jobs"), "", errors.New("not allowed"))
	c := newServer().controller(t)
	_, err := c.cluster.BatchV1().Jobs("agents").Get(t.Context(), "none", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	assert.False(t, c.apiServer.explains(forbidden, time.Now()), "an error that the API server returns is not an outage")

	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	c, err = New(&rest.Config{Host: "http://127.0.0.1", Transport: nobody{}}, m, Options{})
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = c.apiServer.transport(nobody{}).RoundTrip(httptest.NewRequestWithContext(ended, http.MethodGet, "/", http.NoBody))
	require.Error(t, err)
	assert.True(t, c.apiServer.explains(context.DeadlineExceeded, time.Now()))
	assert.False(t, c.apiServer.explains(forbidden, time.Now()), "a webhook of one namespace may hang until the caller gives up")

	err = c.cluster.BatchV1().Jobs("agents").Delete(t.Context(), "none", metav1.DeleteOptions{}) // a GET would be retried for 10 s
	require.ErrorContains(t, err, "connection reset")
	assert.True(t, c.apiServer.explains(forbidden, time.Now()))
	assert.False(t, c.apiServer.explains(forbidden, time.Now().Add(startupTime)), "a lasting refusal is reported")
}
