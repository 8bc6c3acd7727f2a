// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// owners reads the owner of a Job.
type owners = func(context.Context, string, metav1.OwnerReference) (metav1.Object, error)

func found(run *agentRun) owners {
	return func(context.Context, string, metav1.OwnerReference) (metav1.Object, error) { return run, nil }
}

func missing(_ context.Context, _ string, ref metav1.OwnerReference) (metav1.Object, error) {
	return nil, notFoundOf("agents.example.com", "agentruns", ref.Name)
}

// TestReleaseOrphans releases a Job only if the API server has no owner for it.
func TestReleaseOrphans(t *testing.T) {
	another := newAgentRun()
	another.UID = "another"
	away := errors.New("no route to host")
	fails := func(context.Context, string, metav1.OwnerReference) (metav1.Object, error) { return nil, away }
	proxy := func(context.Context, string, metav1.OwnerReference) (metav1.Object, error) {
		return nil, notFoundOf("", "namespaces", "ns")
	}
	deleting := func(j *batchv1.Job) { j.DeletionTimestamp = ptr.To(metav1.Now()) }
	for name, tc := range map[string]struct {
		reason         string
		edit           func(*batchv1.Job)
		cached, stored owners
		released       bool
		says           string
	}{
		"Owned":     {"The cache has its owner: no request.", func(*batchv1.Job) {}, found(newAgentRun()), fails, false, ""},
		"Late":      {"The cache of owners is late.", func(*batchv1.Job) {}, missing, found(newAgentRun()), false, ""},
		"Gone":      {"Nothing records its outcome.", func(*batchv1.Job) {}, missing, missing, true, ""},
		"Recreated": {"The owner is another object.", func(*batchv1.Job) {}, found(another), found(another), true, ""},
		"Deleting":  {"The cache of owners is late.", deleting, found(newAgentRun()), missing, true, ""},
		"Waits":     {"Its owner records that it is lost.", deleting, found(newAgentRun()), found(newAgentRun()), false, ""},
		"NoOwner":   {"It has none.", func(j *batchv1.Job) { j.OwnerReferences = nil }, fails, fails, true, ""},
		"NotHeld":   {"It has not the finalizer of the Guard.", func(j *batchv1.Job) { j.Finalizers = []string{"a.example.com/a"} }, fails, fails, false, ""},
		"Away":      {"Nothing is known.", deleting, fails, fails, false, "ns/job: no route to host"},
		"Proxy":     {"A 404 about something else.", func(*batchv1.Job) {}, missing, proxy, false, "ns/job: a 404 about"},
		"CacheAway": {"Nothing is known of a kind that the cache does not read.", func(*batchv1.Job) {}, fails, missing, false, "ns/job: no route to host"},
		"NoUID":     {"An owner that was not read.", deleting, fails, found(&agentRun{}), false, "stored returned neither an owner with a uid nor an error"},
		"NotCached": {"The API server decides.", func(*batchv1.Job) {}, found(nil), found(newAgentRun()), false, ""},
		"Nothing":   {"Neither an owner nor an error.", func(*batchv1.Job) {}, missing, found(nil), false, "stored returned neither an owner with a uid nor an error"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{Finalizer: holder})
			job := ownedJob()
			job.UID = "1"
			job.Finalizers = []string{"b.example.com/b", holder}
			tc.edit(job)
			before := job.DeepCopy()
			w.put(job)
			w.store.sync(w.server)
			released, err := w.guard.ReleaseOrphans(t.Context(), tc.cached, tc.stored)
			assert.Equal(t, tc.released, released == 1, tc.reason)
			if tc.says != "" {
				require.ErrorContains(t, err, tc.says, tc.reason)
			} else {
				require.NoError(t, err, tc.reason)
			}
			if tc.released {
				assert.Equal(t, []string{"b.example.com/b"}, w.jobs["job"].Finalizers)
			} else {
				assert.Equal(t, before.Finalizers, w.jobs["job"].Finalizers)
			}
		})
	}
}

func TestSweepOrphans_BadInput(t *testing.T) {
	for name, tc := range map[string]struct {
		finalizer      string
		cached, stored owners
		says           string
	}{
		"NoFinalizer": {"", missing, missing, "Options.Finalizer is empty"},
		"NoCached":    {holder, nil, missing, "cached and stored must read owners"},
		"NoStored":    {holder, missing, nil, "cached and stored must read owners"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{Finalizer: tc.finalizer})
			ctx, stop := context.WithCancel(t.Context())
			stop()
			require.ErrorContains(t, w.guard.SweepOrphans(ctx, tc.cached, tc.stored), tc.says)
		})
	}
}

// TestReleaseOrphans_ReportsACacheThatFails, because no Job was looked at.
func TestReleaseOrphans_ReportsACacheThatFails(t *testing.T) {
	w := newWorld(t, jobgc.Options{Finalizer: holder})
	w.store.err = errors.New("disk on fire")
	_, err := w.guard.ReleaseOrphans(t.Context(), missing, missing)
	require.EqualError(t, err, "the cached list of Jobs: disk on fire")
}

// TestSweepOrphans goes on after a failure, and ends with its context.
func TestSweepOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		ctx, stop := context.WithTimeout(logr.NewContext(t.Context(), log), 90*time.Second)
		defer stop()
		w := newWorld(t, jobgc.Options{Finalizer: holder})
		job := ownedJob()
		job.UID = "1"
		job.Finalizers = []string{holder}
		w.put(job)
		w.store.sync(w.server)
		w.refuse = errors.New("a webhook says no")
		sweeps := 0
		stored := func(ctx context.Context, namespace string, owner metav1.OwnerReference) (metav1.Object, error) {
			sweeps++
			if sweeps == 2 {
				w.refuse = nil
			}
			return missing(ctx, namespace, owner)
		}
		require.NoError(t, w.guard.SweepOrphans(ctx, missing, stored))
		assert.Empty(t, w.jobs["job"].Finalizers)
		require.Len(t, lines, 2)
		assert.Contains(t, lines[0], `"error"="ns/job: patch ns/job: a webhook says no"`)
		assert.Contains(t, lines[1], `"msg"="Released Jobs whose owners are gone" "released"=1`)
	})
}

// TestReleaseOrphans_GivesEachJobTenSeconds: a read that hangs does not block
// the other Jobs.
func TestReleaseOrphans_GivesEachJobTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{Finalizer: holder})
		for _, name := range []string{"a", "b"} {
			job := ownedJob()
			job.Name = name
			job.UID = types.UID(name)
			job.OwnerReferences[0].Name = name
			job.Finalizers = []string{holder}
			w.put(job)
		}
		w.store.sync(w.server)
		stored := func(ctx context.Context, namespace string, ref metav1.OwnerReference) (metav1.Object, error) {
			if ref.Name == "a" {
				return nil, pause(ctx, time.Hour)
			}
			return missing(ctx, namespace, ref)
		}
		released, err := w.guard.ReleaseOrphans(t.Context(), missing, stored)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 1, released)
	})
}
