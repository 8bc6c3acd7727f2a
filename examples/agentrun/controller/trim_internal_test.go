// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/expire"
)

// enlarge gives a run 900 KiB, as much as the API server accepts.
func enlarge(run *v1alpha1.AgentRun) {
	text := strings.Repeat("x", 180<<10)
	run.Labels = map[string]string{"team": "a"}
	run.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": text}
	run.Spec.Command = []string{text}
	run.Spec.Args = []string{text}
	run.Spec.Parameters = map[string]string{"text": text}
	run.Spec.PodAnnotations = map[string]string{"text": text}
}

// TestCaches_HoldLittleOfALargeRun: 120 runs of 900 KiB must fit into the
// memory of the pod.
func TestCaches_HoldLittleOfALargeRun(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(*v1alpha1.AgentRun)
	}{
		"Started": {"Its Job has what it needs.", func(*v1alpha1.AgentRun) {}},
		"Ended": {"It stays for 30 days.", func(run *v1alpha1.AgentRun) {
			setPhase(run, v1alpha1.Failed, reasonJobFailed, "", time.Now())
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, job := newStarted("nightly", nil)
				enlarge(run)
				tc.change(run)
				run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "key", Key: "token"}
				kept := map[string]string{releasedAnnotation: "2026-01-01T00:00:00Z"}
				job.Annotations = maps.Clone(kept)
				job.Annotations["note"] = strings.Repeat("x", 200<<10)
				c, _, _ := followingOf(t, run, job)
				_, cached := c.find(keyOf(run))
				text, err := json.Marshal(cached)
				require.NoError(t, err)
				assert.Less(t, len(text), 2<<10, tc.reason)
				assert.Equal(t, run.Spec.SecretRef, cached.Spec.SecretRef, "It is needed to mask texts.")
				jobs := c.scopes[0].jobs.GetStore().List()
				require.Len(t, jobs, 1)
				assert.Equal(t, kept, jobs[0].(*batchv1.Job).Annotations)
			})
		})
	}
}

// TestExpire_KeepsARetainedRun: the annotation must pass the transform of the
// informer whose store the Sweeper reads.
func TestExpire_KeepsARetainedRun(t *testing.T) {
	for keeps, annotations := range map[bool]map[string]string{
		true:  {expire.DefaultRetain: "true", "note": "x"},
		false: {"note": "x"},
	} {
		synctest.Test(t, func(t *testing.T) {
			run, job := newStarted("nightly", nil)
			run.Annotations = annotations
			setPhase(run, v1alpha1.Failed, reasonJobFailed, "", time.Now())
			run.Status.FinishedAt = new(metav1.NewTime(time.Now().Add(-40 * 24 * time.Hour)))
			c, _, _ := followingOf(t, run, job)
			deleted := 0
			sweeper, err := expire.New(func(string) expire.Runs {
				return deleting(func() { deleted++ })
			}, c.scopes[0].runs.GetStore().List, finished, &c.serverTime, expire.Options{TTL: 30 * 24 * time.Hour})
			require.NoError(t, err)
			_, err = sweeper.Sweep(t.Context(), time.Now())
			require.NoError(t, err)
			assert.Equal(t, keeps, deleted == 0)
		})
	}
}

// deleting is a client of runs that counts deletions.
type deleting func()

func (d deleting) Delete(context.Context, string, metav1.DeleteOptions) error {
	d()
	return nil
}

// TestSmall_KeepsWhatIsRead: the cache of a usual run is complete until its Job
// exists, so that its creation needs no other request.
func TestSmall_KeepsWhatIsRead(t *testing.T) {
	run := newRun("nightly", "uid-1")
	run.Spec.Args = []string{"--all"}
	run.Annotations = map[string]string{"note": "x"}
	kept := run.DeepCopy()
	trimRun(kept)
	assert.Equal(t, run, kept)

	run.Spec.Suspend = true
	run.Spec.Cancel = true
	run.Spec.JobTTLSecondsAfterFinished = new(int32(60))
	run.Spec.TTLSecondsAfterFinished = new(int32(120))
	run.Status.JobRef = &jobgc.Ref{Name: "run-uid-1", UID: "job-1"}
	want := v1alpha1.AgentRunSpec{
		Suspend: true, Cancel: true, JobTTLSecondsAfterFinished: new(int32(60)), TTLSecondsAfterFinished: new(int32(120)),
	}
	trimRun(run)
	assert.Equal(t, want, run.Spec)

	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"note": "x"}}}
	_, err := trim(job)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{}, job.Annotations, "A release must not replace the annotations of others.")
}

// TestALargeRun_IsCreatedAndWrittenAsAWhole: what the cache lacks reaches the
// Job, and no write of the status removes it.
func TestALargeRun_IsCreatedAndWrittenAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly", "uid-1")
		enlarge(run)
		s := newServer(run)
		stored := s.runs[run.Name].DeepCopy()
		var created *batchv1.Job
		c := s.controllerOn(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPost {
				return s.RoundTrip(r)
			}
			job, err := sentJob(r)
			if err != nil {
				return nil, err
			}
			created = job.DeepCopy()
			job.UID = "job-1"
			job.Status.StartTime = new(metav1.Now())
			return reply(r, http.StatusCreated, job)
		}), Options{})
		cached := run.DeepCopy()
		trimRun(cached)
		require.NoError(t, c.scopes[0].runs.GetStore().Update(cached))
		_, err := c.step(t.Context(), keyOf(run))
		require.NoError(t, err)
		container := created.Spec.Template.Spec.Containers[0]
		assert.Equal(t, run.Spec.Image, container.Image)
		assert.Equal(t, run.Spec.Args, container.Args)
		assert.Equal(t, run.Spec.PodAnnotations, created.Spec.Template.Annotations)
		now := s.runs[run.Name]
		assert.Equal(t, v1alpha1.Running, now.Status.Phase)
		assert.Equal(t, stored.Spec, now.Spec)
		assert.Equal(t, stored.Annotations, now.Annotations)
		assert.Equal(t, stored.Labels, now.Labels)
		_, kept := c.find(keyOf(run))
		assert.Empty(t, kept.Spec.Args, "Nor is the answer to a write kept as a whole.")
		assert.Equal(t, now.ResourceVersion, kept.ResourceVersion)
	})
}
