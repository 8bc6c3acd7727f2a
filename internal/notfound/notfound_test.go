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
	none := schema.GroupResource{} // of a caller that does not know it
	cases := map[string]struct {
		reason string
		of     schema.GroupResource
		err    error
		is     bool
		says   string
	}{
		"ThisOne": {"The API server's word.", jobs, apierrors.NewNotFound(jobs, "a"), true, ""},
		"Wrapped": {
			"By a closure around the client.", jobs,
			fmt.Errorf("get: %w", apierrors.NewNotFound(jobs, "a")), true, "",
		},
		"AnotherName": {
			"That one is gone, not this one.", jobs,
			apierrors.NewNotFound(jobs, "b"), false, `a 404 about jobs.batch "b", want jobs.batch "a"`,
		},
		"AnotherResource": {
			"A pod.", jobs,
			apierrors.NewNotFound(resource("", "pods"), "a"),
			false, `a 404 about pods "a", want jobs.batch "a"`,
		},
		"AnotherGroup": {
			"Jobs of another API.", jobs,
			apierrors.NewNotFound(resource("batch.volcano.sh", "jobs"), "a"),
			false, `a 404 about jobs.batch.volcano.sh "a"`,
		},
		"Lister": {
			"A cache has a kind there, and proves nothing.", jobs,
			apierrors.NewNotFound(resource("batch", "job"), "a"), false, `a 404 about job.batch "a"`,
		},
		"NoDetails": {
			"About what?", jobs,
			bare, false, `a 404 that does not say what it is about, want jobs.batch "a"`,
		},
		"Proxy":       {"Client-go fills in the request.", jobs, proxy, false, "a 404 that no API server wrote"},
		"Other":       {"No 404.", jobs, errors.New("down"), false, "down"},
		"None":        {"No error.", jobs, nil, false, ""},
		"AnyResource": {"The name is enough.", none, apierrors.NewNotFound(jobs, "a"), true, ""},
		"AnyResourceAnotherName": {
			"That one is gone.", none,
			apierrors.NewNotFound(jobs, "b"), false, `a 404 about jobs.batch "b", want "a"`,
		},
		"AnyResourceProxy": {"No API server.", none, proxy, false, `a 404 that no API server wrote about "a"`},
		"AnyResourceNoDetails": {
			"About what?", none, bare, false, `a 404 that does not say what it is about, want "a": `,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			is, err := notfound.Is(tc.err, tc.of, "a")
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
