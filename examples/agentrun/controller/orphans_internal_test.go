// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// holding answers ReleaseOrphan, and notes the Jobs that it releases.
type holding struct {
	*server
	released []string
	refuses  bool
}

func (h *holding) RoundTrip(r *http.Request) (*http.Response, error) {
	about := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}}
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/agentruns"):
		list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
		for _, run := range h.runs {
			about.ObjectMeta = run.ObjectMeta
			list.Items = append(list.Items, about)
		}
		return reply(r, http.StatusOK, list)
	case r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/jobs/") && h.refuses:
		return reply(r, http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden})
	case r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/jobs/"):
		about.Name = path.Base(r.URL.Path)
		h.released = append(h.released, about.Name)
		return reply(r, http.StatusOK, about)
	}
	return h.server.RoundTrip(r)
}

// TestTheHeldJobOfADeletedRunIsReleased, also if a new run has the same name,
// as after kubectl replace --force.
func TestTheHeldJobOfADeletedRunIsReleased(t *testing.T) {
	for name, recreated := range map[string]bool{"Deleted": false, "Recreated": true} {
		t.Run(name, func(t *testing.T) {
			at := metav1.Now()
			held := func(run *v1alpha1.AgentRun, job *batchv1.Job) {
				job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("AgentRun"))}
				job.Finalizers = []string{HoldFinalizer}
			}
			old, oldJob := newStarted("old", &at)
			old.Name = "nightly"
			held(old, oldJob)
			oldJob.DeletionTimestamp = &at // by the garbage collector
			run, job := newStarted("nightly", &at)
			held(run, job)
			s := newServer()
			if recreated {
				s = newServer(run)
			}
			h := &holding{server: s}
			c := s.controllerOn(t, h, Options{Hold: true})
			require.NoError(t, c.scopes[0].jobs.GetStore().Add(oldJob))
			if recreated {
				require.NoError(t, c.scopes[0].jobs.GetStore().Add(job))
			}
			if recreated {
				h.refuses = true
				_, err := c.step(t.Context(), keyOf(run))
				require.NoError(t, err, "the run goes on")
				h.refuses = false
			}
			_, err := c.step(t.Context(), keyOf(run))
			require.NoError(t, err)
			assert.Equal(t, []string{oldJob.Name}, h.released)
		})
	}
}
