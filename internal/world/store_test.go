// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/world"
)

var work = world.Key{Resource: world.JobResource, Namespace: "default", Name: "work"}

// cluster is a store with one Job, whose version is 1.
func cluster(t *testing.T, job string) *world.Store {
	t.Helper()
	s := &world.Store{Now: world.Began(), HasStatus: map[string]bool{world.JobResource: true}}
	answer, _ := s.Do(world.Request{Verb: "create", Key: work, Body: []byte(job)})
	require.NoError(t, answer.Err)
	return s
}

func patch(kind types.PatchType, body, subresource string) world.Request {
	return world.Request{Verb: "patch", Key: work, PatchType: kind, Body: []byte(body), Subresource: subresource}
}

func stored(t *testing.T, s *world.Store) *batchv1.Job {
	t.Helper()
	o := s.Object(work)
	if o == nil {
		return nil
	}
	job, err := world.As[batchv1.Job](o)
	require.NoError(t, err)
	return job
}

func TestStore_AnswersAsTheAPIServer(t *testing.T) {
	other := types.UID("other")
	for name, tt := range map[string]struct {
		reason  string
		request world.Request
		refused func(error) bool
		version string // afterwards; empty if the Job is gone
	}{
		"create twice": {
			"a name is taken once",
			world.Request{Verb: "create", Key: work, Body: []byte(`{}`)},
			apierrors.IsAlreadyExists, "1",
		},
		"patch an old version": {
			"the version in a patch is a precondition", patch(types.MergePatchType, `{"metadata":{"resourceVersion":"0"}}`, ""),
			apierrors.IsConflict, "1",
		},
		"update another object": {
			"the uid in an object is a precondition",
			world.Request{Verb: "update", Key: work, Body: []byte(`{"metadata":{"uid":"other"}}`)},
			apierrors.IsConflict, "1",
		},
		"patch another object": {
			"a JSON patch whose test fails is invalid",
			patch(types.JSONPatchType, `[{"op":"test","path":"/metadata/uid","value":"other"}]`, ""),
			apierrors.IsInvalid, "1",
		},
		"patch without effect": {
			"a write that changes nothing makes no version", patch(types.MergePatchType, `{"spec":{"suspend":true}}`, ""),
			nil, "1",
		},
		"patch the spec": {
			"a write makes a version", patch(types.MergePatchType, `{"spec":{"suspend":false}}`, ""),
			nil, "2",
		},
		"status with the spec": {
			"without the subresource a patch leaves the status", patch(types.MergePatchType, `{"status":{"active":1}}`, ""),
			nil, "1",
		},
		"spec with the status": {
			"the subresource leaves the spec", patch(types.MergePatchType, `{"spec":{"suspend":false}}`, "status"),
			nil, "1",
		},
		"delete another object": {
			"the uid is a precondition",
			world.Request{Verb: "delete", Key: work, Delete: metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}},
			apierrors.IsConflict, "1",
		},
		"delete": {"an object without finalizers is gone", world.Request{Verb: "delete", Key: work}, nil, ""},
		"get another name": {
			"a missing object is not found",
			world.Request{Verb: "get", Key: world.Key{Resource: work.Resource, Name: "x"}},
			apierrors.IsNotFound, "1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster(t, `{"spec":{"suspend":true}}`)
			answer, _ := s.Do(tt.request)
			if tt.refused == nil {
				require.NoError(t, answer.Err, tt.reason)
			} else {
				require.True(t, tt.refused(answer.Err), "%s: %v", tt.reason, answer.Err)
			}
			job := stored(t, s)
			if tt.version == "" {
				assert.Nil(t, job, tt.reason)
				return
			}
			assert.Equal(t, tt.version, job.ResourceVersion, tt.reason)
		})
	}
}

func TestStore_HoldsADeletedObjectForItsFinalizers(t *testing.T) {
	s := cluster(t, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	deleted := world.Request{Verb: "delete", Key: work}
	answer, _ := s.Do(deleted)
	require.NoError(t, answer.Err)
	assert.NotNil(t, stored(t, s).DeletionTimestamp)
	assert.EqualValues(t, 2, stored(t, s).Generation)

	answer, change := s.Do(deleted)
	require.NoError(t, answer.Err)
	assert.Empty(t, change, "a second delete changes nothing")

	answer, _ = s.Do(patch(types.MergePatchType, `{"metadata":{"finalizers":["example.com/hold","example.com/late"]}}`, ""))
	require.ErrorContains(t, answer.Err, "no new finalizers")

	answer, change = s.Do(patch(types.MergePatchType, `{"metadata":{"finalizers":null}}`, ""))
	require.NoError(t, answer.Err)
	assert.Nil(t, change.After, "without its last finalizer it is gone")
	assert.Nil(t, stored(t, s))
}

func TestStore_ACopyIsASnapshot(t *testing.T) {
	s := cluster(t, `{"spec":{"suspend":true}}`)
	snapshot := *s
	_, _ = s.Do(world.Request{Verb: "delete", Key: work})
	assert.Nil(t, stored(t, s))
	assert.NotNil(t, stored(t, &snapshot))
}

func TestStore_AdmissionChangesAndRefuses(t *testing.T) {
	s := cluster(t, `{}`)
	s.Admit = func(_ time.Time, r world.Request, fields map[string]any) error {
		if r.Verb == "create" {
			return apierrors.NewForbidden(batchv1.Resource("jobs"), r.Name, assert.AnError)
		}
		fields["spec"] = map[string]any{"ttlSecondsAfterFinished": 100}
		return nil
	}
	answer, _ := s.Do(world.Request{Verb: "create", Key: world.Key{Resource: work.Resource, Name: "more"}, Body: []byte(`{}`)})
	require.True(t, apierrors.IsForbidden(answer.Err))
	answer, _ = s.Do(patch(types.MergePatchType, `{"spec":{"suspend":true}}`, ""))
	require.NoError(t, answer.Err)
	assert.EqualValues(t, 100, *stored(t, s).Spec.TTLSecondsAfterFinished)
}

// act lets an actor do its first write, and reports whether it had one.
func act(t *testing.T, s *world.Store, a world.Actor) bool {
	t.Helper()
	writes, at := a.Next(s)
	if len(writes) == 0 {
		if !at.IsZero() {
			s.Now = at
		}
		return !at.IsZero()
	}
	answer, _ := s.Do(writes[0])
	require.NoError(t, answer.Err)
	return true
}

func TestKubernetes_AJobStartsEndsAndGoes(t *testing.T) {
	s := cluster(t, `{"spec":{"ttlSecondsAfterFinished":100}}`)
	jobs := world.Jobs(batchv1.JobFailed, batchv1.JobComplete)
	require.True(t, act(t, s, jobs))
	assert.NotNil(t, stored(t, s).Status.StartTime)
	require.True(t, act(t, s, jobs))
	assert.Equal(t, batchv1.JobFailed, stored(t, s).Status.Conditions[0].Type)
	require.False(t, act(t, s, jobs), "a Job ends once")

	require.True(t, act(t, s, world.TTL()), "time passes")
	assert.WithinDuration(t, world.Began().Add(100*time.Second), s.Now, 0)
	require.True(t, act(t, s, world.TTL()))
	assert.NotNil(t, stored(t, s).DeletionTimestamp)
	require.True(t, act(t, s, world.GarbageCollector()))
	assert.Nil(t, stored(t, s))
}

func TestKubernetes_ASuspendedJobRunsNoPods(t *testing.T) {
	s := cluster(t, `{"spec":{"suspend":true}}`)
	jobs := world.Jobs(batchv1.JobComplete)
	require.False(t, act(t, s, jobs))
	_, _ = s.Do(patch(types.MergePatchType, `{"spec":{"suspend":false}}`, ""))
	require.True(t, act(t, s, jobs))
	_, _ = s.Do(patch(types.MergePatchType, `{"spec":{"suspend":true}}`, ""))
	require.True(t, act(t, s, jobs))
	assert.Nil(t, stored(t, s).Status.StartTime)
}

func TestKubernetes_AnOwnedObjectGoesWithItsOwner(t *testing.T) {
	s := cluster(t, `{"metadata":{"ownerReferences":[{"uid":"gone"}]}}`)
	require.True(t, act(t, s, world.GarbageCollector()))
	assert.Nil(t, stored(t, s))
}
