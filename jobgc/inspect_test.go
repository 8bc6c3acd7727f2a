// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

//req:shows J2
func TestInspect(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	active := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "mine"}}
	done := active.DeepCopy()
	finish(at)(done)
	successor := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "another"}}
	ref := jobgc.Ref{Name: "job", UID: "mine"}
	recorded := jobgc.Ref{Name: "job", UID: "mine", Outcome: jobgc.Failed}
	cases := map[string]struct {
		reason string
		ref    jobgc.Ref
		job    *batchv1.Job
		err    error
		want   jobgc.State
		source string
	}{
		"Active":    {"The Job is there.", ref, active, nil, jobgc.Active, "LiveRead"},
		"Finished":  {"The Job is there.", ref, done, nil, jobgc.Finished, "LiveRead"},
		"Missing":   {"The API server does not know it.", ref, nil, notFound("job"), jobgc.Missing, "LiveRead"},
		"Replaced":  {"The name is another Job's.", ref, successor, nil, jobgc.Replaced, "LiveRead"},
		"Collected": {"Gone, but its outcome is recorded.", recorded, nil, notFound("job"), jobgc.Collected, "LiveRead"},
		"CollectedAndReplaced": {
			"A successor takes nothing from an outcome that is recorded.",
			recorded, successor, nil, jobgc.Collected, "LiveRead",
		},
		"NotCreated": {"Without a uid there is nothing to look for.", jobgc.Ref{Name: "job"}, nil, errUnexpected, jobgc.NotCreated, "Ref"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := jobgc.Inspect(t.Context(), fakeJobs{get: func(string) (*batchv1.Job, error) { return tc.job, tc.err }}, tc.ref)
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.want, f.State, tc.reason)
			assert.Equal(t, tc.source, f.Source, tc.reason)
			assert.Equal(t, f.Lost(), f.Reason != "" && f.Message != "" && f.Job == nil, "a loss says why")
			if f.State == jobgc.Collected {
				assert.Equal(t, tc.ref.Outcome, f.Outcome)
			}
		})
	}
}

// Only an answer of the API server about this very Job decides. Any other
// answer is an error.
//
//req:shows J2
func TestInspectIsNotFooled(t *testing.T) {
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine"}
	bare := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}}
	cases := map[string]struct {
		reason string
		job    *batchv1.Job
		err    error
		says   string
	}{
		"Timeout":      {"A missing answer proves nothing.", nil, context.DeadlineExceeded, "deadline"},
		"NoSuchHost":   {"The text of a DNS error contains NOTFOUND; text decides nothing.", nil, errors.New("getaddrinfo ENOTFOUND kubernetes.default.svc"), "ENOTFOUND"},
		"Forbidden":    {"A 403 proves nothing about the Job.", nil, apierrors.NewForbidden(jobResource, "job", nil), "forbidden"},
		"Unauthorized": {"A 401 proves nothing about the Job.", nil, apierrors.NewUnauthorized("expired"), "expired"},
		"ProxyWrote404": {
			"Client-go calls the 404 page of a load balancer NotFound too, with name and kind of the request.",
			nil, apierrors.NewGenericServerResponse(http.StatusNotFound, "get", jobResource, "job", "404 page not found", 0, true), "404 that no API server wrote",
		},
		"TooManyRequests": {"A 429 proves nothing about the Job.", nil, apierrors.NewTooManyRequests("slow down", 1), "slow down"},
		"Nothing":         {"A client that returns neither a Job nor an error.", nil, nil, "neither"},
		"OtherJob404":     {"Another Job is gone.", nil, notFound("another"), `404 about jobs.batch "another", want jobs.batch "job"`},
		"Namespace404":    {"The API server answers a read with a 404 about the Job, not the namespace.", nil, notFoundOf("", "namespaces", "ns"), `404 about namespaces "ns", want jobs.batch "job"`},
		"Pod404":          {"A pod of the same name is gone.", nil, notFoundOf("", "pods", "job"), `404 about pods "job", want jobs.batch "job"`},
		"Cluster404":      {"A gateway to many clusters does not have this cluster.", nil, notFoundOf("management.example.com", "clusters", "job"), `404 about clusters.management.example.com "job"`},
		"Lister404":       {"The singular kind shows that a cache answered.", nil, notFoundOf("batch", "job", "job"), `404 about job.batch "job", want jobs.batch "job"`},
		"Unspecified404":  {"The 404 does not name its object.", nil, bare, "404 that does not say what it is about"},
		"EmptyJob":        {"A 200 without an object does not prove a successor.", &batchv1.Job{}, nil, "want this name and a uid"},
		"JobWithoutUID":   {"A Job without a uid was never stored.", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}, nil, "want this name and a uid"},
		"OtherJob":        {"The client returned another Job.", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "another", UID: "x"}}, nil, `the name "another"`},
		"OtherNamespace":  {"A Ref of another namespace is a mistake, not a replaced Job.", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "job", UID: "x"}}, nil, `the client reads "other"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := jobgc.Inspect(t.Context(), fakeJobs{get: func(string) (*batchv1.Job, error) { return tc.job, tc.err }}, ref)
			require.Error(t, err, tc.reason)
			require.ErrorContains(t, err, "jobgc: inspect: ns/job: ")
			require.ErrorContains(t, err, tc.says, tc.reason)
			assert.Equal(t, jobgc.Observation{}, f)
			if tc.err != nil {
				require.ErrorIs(t, err, tc.err)
			}
		})
	}
}

func TestInspectBadInput(t *testing.T) {
	_, err := jobgc.Inspect(t.Context(), nil, jobgc.Ref{Name: "job", UID: "mine"})
	require.ErrorContains(t, err, "client is nil")
	_, err = jobgc.Inspect(t.Context(), (*fakeJobs)(nil), jobgc.Ref{Name: "job", UID: "mine"})
	require.ErrorContains(t, err, "client is nil")
	_, err = jobgc.Inspect(t.Context(), fakeJobs{}, jobgc.Ref{UID: "mine"})
	require.ErrorContains(t, err, "jobgc: inspect: Ref.Name is empty; set the name of the Job")
}
