// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// withPhase returns a copy of r in another phase.
func withPhase(r *Run, phase string) *Run {
	r = r.DeepCopy()
	r.Status.Phase = phase
	return r
}

// TestCommit_RefusesACopyOlderThanItsOwnWrite: a cache that is late must not
// swallow a verdict, nor mix it with the stored one.
//
//req:shows S4
func TestCommit_RefusesACopyOlderThanItsOwnWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		late   func(r *Run)
	}{
		"SameVerdictAsTheCopy": {"Unchanged would leave the newer verdict, and no event would repair it.", func(*Run) {}},
		"SameVerdictAsStored":  {"The cache decides it again when it has the write.", func(r *Run) { r.Status.Phase = "Running" }},
		"AnotherField":         {"A merge would take the own write for another writer's.", func(r *Run) { r.Status.Message = "late" }},
		"SameField":            {"The own write is not a field conflict.", func(r *Run) { r.Status.Phase = "Failed" }},
	} {
		t.Run(name, func(t *testing.T) {
			s, stale := start(t)
			var labels []string
			w := via(client[Run]{s}.Patch, status.Writer{OnCommit: func(label string, _ time.Duration) { labels = append(labels, label) }})
			_, err := w.Commit(t.Context(), stale, withPhase(stale, "Running"), status.Facts{})
			require.NoError(t, err)
			s.sent()
			stored := get[Run](t, s, "a")

			late := stale.DeepCopy()
			tc.late(late)
			kept := late.DeepCopy()
			result, err := w.Commit(t.Context(), stale, late, status.Facts{})
			require.ErrorIs(t, err, status.ErrStaleRead, tc.reason)
			require.ErrorIs(t, err, status.ErrSuperseded, "a caller that knows the family needs no change")
			require.NotErrorIs(t, err, status.ErrFieldConflict)
			require.NotErrorIs(t, status.ErrSuperseded, status.ErrStaleRead)
			require.ErrorContains(t, err, "reconcile again when the cache has caught up", "the remedy")
			require.ErrorContains(t, err, "5m0s", "how long it lasts at most")
			assert.Empty(t, result)
			assert.Equal(t, []string{"written", "superseded"}, labels)
			assert.Zero(t, s.sent(), "it is known without a request")
			assert.Equal(t, stored, get[Run](t, s, "a"))
			assert.Equal(t, kept, late)

			// The cache has caught up.
			fresh := get[Run](t, s, "a")
			next := fresh.DeepCopy()
			tc.late(next)
			_, err = w.Commit(t.Context(), fresh, next, status.Facts{})
			require.NoError(t, err)
		})
	}
}

// TestCommit_AcceptsAStaleCopyAfterARestart: the first way that stays. Another
// process, or this one before a restart, wrote, and the first copy is from
// before. Only a cache that waits for all writes, or a live read, prevents it.
func TestCommit_AcceptsAStaleCopyAfterARestart(t *testing.T) {
	s, stale := start(t)
	predecessor := via(client[Run]{s}.Patch, status.Writer{})
	_, err := predecessor.Commit(t.Context(), stale, withPhase(stale, "Running"), status.Facts{})
	require.NoError(t, err)

	w := via(client[Run]{s}.Patch, status.Writer{})
	result, err := w.Commit(t.Context(), stale, stale.DeepCopy(), status.Facts{})
	require.NoError(t, err)
	assert.Equal(t, status.Unchanged, result)
	assert.Equal(t, "Running", get[Run](t, s, "a").Status.Phase, "the verdict Pending is lost until the next event")
}

// TestCommit_AcceptsACopyOlderThanFiveMinutes: the second way that stays. It
// bounds how long a restored store, or a cache that gets no more changes,
// blocks an object.
func TestCommit_AcceptsACopyOlderThanFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stale := start(t)
		w := via(client[Run]{s}.Patch, status.Writer{})
		_, err := w.Commit(t.Context(), stale, withPhase(stale, "Running"), status.Facts{})
		require.NoError(t, err)

		time.Sleep(5*time.Minute - time.Second)
		_, err = w.Commit(t.Context(), stale, stale.DeepCopy(), status.Facts{})
		require.ErrorIs(t, err, status.ErrStaleRead)
		time.Sleep(time.Second)
		result, err := w.Commit(t.Context(), stale, stale.DeepCopy(), status.Facts{})
		require.NoError(t, err, "the refused Commit did not prolong it")
		assert.Equal(t, status.Unchanged, result)
	})
}

// TestCommit_RemembersByObject: the memory belongs to a client, and a Writer is
// copied.
func TestCommit_RemembersByObject(t *testing.T) {
	s, stale := start(t)
	reconciler := struct{ Writer status.Writer }{via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Ready", "Stalled"}})}
	assert.False(t, reconciler.Writer.IsStale(stale))
	_, err := reconciler.Writer.Commit(t.Context(), stale, withPhase(stale, "Running"))
	require.NoError(t, err)

	another := reconciler
	another.Writer.Owned = nil
	another.Writer.OnCommit = func(string, time.Duration) {}
	assert.True(t, another.Writer.IsStale(stale), "known before the work is done")
	_, err = another.Writer.Commit(t.Context(), stale, stale.DeepCopy())
	require.ErrorIs(t, err, status.ErrStaleRead)
	assert.False(t, another.Writer.IsStale(get[Run](t, s, "a")))
	assert.False(t, status.Writer{}.IsStale(stale))
	assert.False(t, another.Writer.IsStale(nil))

	run := bigRun()
	_, err = status.Writer{Owned: []string{"Ready"}}.Commit(t.Context(), run, run.DeepCopy(), status.Facts{})
	require.ErrorContains(t, err, "the Writer has no client", "the zero Writer remembers nothing, and does not panic")
}

// TestCommit_ComparesOnlyVersionsOfOneObject: fakes leave out what an API
// server sets, and then there is nothing to compare.
func TestCommit_ComparesOnlyVersionsOfOneObject(t *testing.T) {
	for name, tc := range map[string]struct {
		reason                string
		uid                   types.UID
		read, written, stored string
	}{
		"NoUID":               {"Objects without uid would share one memory.", "", "1", "1", "2"},
		"WrittenIsNoNumber":   {"A version that is not a number has no order.", "u", "1", "1", "v2"},
		"ReadIsNoNumber":      {"Neither has one that was read.", "u", "v1", "1", "2"},
		"WrittenIsEmpty":      {"A fake may return no version.", "u", "1", "1", ""},
		"NewerThanTheWritten": {"The cache has the write of another client.", "u", "3", "1", "2"},
		"TenIsNewerThanNine":  {"Versions are numbers, not texts.", "u", "10", "1", "9"},
	} {
		t.Run(name, func(t *testing.T) {
			before := bigRun()
			before.UID = tc.uid
			before.ResourceVersion = tc.written
			w := via(patching(func([]byte, ...string) (*Run, error) {
				reply := withPhase(before, "Stopping")
				reply.ResourceVersion = tc.stored
				return reply, nil
			}), status.Writer{FieldNames: status.FieldNames{UpdatedAt: "-"}})
			_, err := w.Commit(t.Context(), before, withPhase(before, "Stopping"), running)
			require.NoError(t, err)

			read := bigRun()
			read.UID = tc.uid
			read.ResourceVersion = tc.read
			result, err := w.Commit(t.Context(), read, read.DeepCopy(), running)
			require.NoError(t, err, tc.reason)
			assert.Equal(t, status.Unchanged, result)
		})
	}
}
