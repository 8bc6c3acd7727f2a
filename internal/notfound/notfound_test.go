// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package notfound_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/internal/notfound"
)

func TestIs(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	resource := func(group, name string) schema.GroupResource {
		return schema.GroupResource{Group: group, Resource: name}
	}
	bare := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code:   http.StatusNotFound,
		Reason: metav1.StatusReasonNotFound,
	}}
	proxy := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", jobs, "a", "404", 0, true)
	cases := map[string]struct {
		reason string
		err    error
		is     bool
		says   string
	}{
		"ThisOne": {"The API server's word.", apierrors.NewNotFound(jobs, "a"), true, ""},
		"Wrapped": {
			"By a closure around the client.",
			fmt.Errorf("get: %w", apierrors.NewNotFound(jobs, "a")), true, "",
		},
		"AnotherName": {
			"That one is gone, not this one.",
			apierrors.NewNotFound(jobs, "b"), false, `a 404 about jobs.batch "b", want jobs.batch "a"`,
		},
		"AnotherResource": {
			"A pod.",
			apierrors.NewNotFound(resource("", "pods"), "a"),
			false, `a 404 about pods "a", want jobs.batch "a"`,
		},
		"AnotherGroup": {
			"Jobs of another API.",
			apierrors.NewNotFound(resource("batch.volcano.sh", "jobs"), "a"),
			false, `a 404 about jobs.batch.volcano.sh "a"`,
		},
		"Lister": {
			"A cache has a kind there, and is no proof.",
			apierrors.NewNotFound(resource("batch", "job"), "a"), false, `a 404 about job.batch "a"`,
		},
		"NoDetails": {
			"About what?",
			bare, false, `a 404 that does not say what it is about, want jobs.batch "a"`,
		},
		"Proxy": {"Client-go fills in the request.", proxy, false, "a 404 that no API server wrote"},
		"Other": {"No 404.", errors.New("down"), false, "down"},
		"None":  {"No error.", nil, false, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			is, err := notfound.Is(tc.err, jobs, "a")
			assert.Equal(t, tc.is, is, tc.reason)
			if tc.says == "" {
				require.NoError(t, err, tc.reason)
				return
			}
			require.ErrorContains(t, err, tc.says, tc.reason)
			require.ErrorIs(t, err, tc.err)
		})
	}
}

// A caller that does not know the resource is told of the name alone.
func TestIsOfAnyResource(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	is, err := notfound.Is(apierrors.NewNotFound(jobs, "a"), schema.GroupResource{}, "a")
	require.NoError(t, err)
	assert.True(t, is)
	proxy := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", jobs, "a", "404", 0, true)
	bare := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusNotFound}}
	for says, answer := range map[string]error{
		`a 404 about jobs.batch "b", want "a"`:                 apierrors.NewNotFound(jobs, "b"),
		`a 404 that no API server wrote about "a"`:             proxy,
		`a 404 that does not say what it is about, want "a": `: bare,
	} {
		is, err = notfound.Is(answer, schema.GroupResource{}, "a")
		assert.False(t, is, says)
		require.ErrorContains(t, err, says)
	}
}
