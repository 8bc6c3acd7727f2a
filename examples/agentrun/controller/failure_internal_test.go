// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

//req:shows E6
func TestAnOutageIsNoFailureOfARun(t *testing.T) {
	jobs := batchv1.Resource("jobs")
	refused := &url.Error{Op: "Post", URL: "https://127.0.0.1", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	forbidden := apierrors.NewForbidden(jobs, "", errors.New("not allowed"))
	tests := map[string]struct {
		reason string
		err    error
		during bool // a request failed a second ago
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
			var o outage
			now := time.Now()
			if tc.during {
				assert.True(t, o.explains(refused, now))
				now = now.Add(time.Second)
			}
			assert.Equal(t, tc.want, o.explains(&told{"redacted", tc.err}, now), tc.reason)
			if tc.want && !unanswered(tc.err) {
				assert.False(t, o.explains(tc.err, now.Add(comingUp)), "a lasting failure is reported")
			}
		})
	}
}
