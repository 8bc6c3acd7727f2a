// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestGuard_RemembersTheLastJobs that were deleted, and only as many as it
// says.
func TestGuard_RemembersTheLastJobs(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		limit  int // 0: the limit of New
		kept   int
	}{
		"Default": {"The doc comment of Guard has this number.", 0, 4096},
		"Three":   {"The last ones stay.", 3, 3},
		"One":     {"The last one stays.", 1, 1},
		"None":    {"A memory without room remembers none.", -1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			if tc.limit != 0 {
				w.guard.Remember(tc.limit)
			}
			all := tc.kept + 10
			for i := range all {
				job := gone(i)
				w.guard.OnDelete(job)
				w.guard.OnDelete(job)
			}
			for i := all - 1; i >= 0; i-- {
				f := w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: gone(i).UID, Outcome: jobgc.Succeeded})
				assert.Equal(t, i >= all-tc.kept, f.Source == "Tombstone", "%s %d", tc.reason, i)
			}
		})
	}
}

// gone is a finished Job of Step.
func gone(i int) *batchv1.Job {
	job := ownedJob()
	job.Namespace = "ns"
	job.UID = types.UID(fmt.Sprint(i))
	job.Annotations = map[string]string{"jobgc.controllerkit.dev/retention": "all"}
	finish(time.Now())(job)
	return job
}

// TestGuard_KeepsNoJobInItsMemory, and changes none: the object is the
// informer's.
func TestGuard_KeepsNoJobInItsMemory(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	job := gone(1)
	job.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "agent"}}
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent"}}
	given := job.DeepCopy()
	w.guard.OnDelete(job)
	assert.Equal(t, given, job)
	f := w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: job.UID})
	require.Equal(t, "Tombstone", f.Source)
	assert.Nil(t, f.Job)
	assert.Equal(t, "CompleteReason", f.Reason)
	assert.Equal(t, job.Status.StartTime.Time, f.StartedAt)
}

// oneHandler is an informer that keeps its handler.
type oneHandler struct {
	fakeStore

	handlers []cache.ResourceEventHandler
}

func (o *oneHandler) AddEventHandler(h cache.ResourceEventHandler) (*fakeStore, error) {
	o.handlers = append(o.handlers, h)
	return &o.fakeStore, nil
}

// TestNew_RegistersOneHandler, whose events need no call of Step.
func TestNew_RegistersOneHandler(t *testing.T) {
	informer := &oneHandler{}
	g, err := jobgc.New(func(string) fakeJobs { return fakeJobs{} }, informer.get, informer, jobgc.Options{})
	require.NoError(t, err)
	require.Len(t, informer.handlers, 1)
	job := gone(1)
	informer.handlers[0].OnAdd(job, true)
	informer.handlers[0].OnDelete(job)
	f, err := look(t.Context(), g, jobgc.Ref{Namespace: "ns", Name: "job", UID: job.UID})
	require.NoError(t, err)
	assert.Equal(t, jobgc.Finished, f.State)
	assert.Equal(t, "Tombstone", f.Source)
}
