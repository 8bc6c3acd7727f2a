// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"net"
	"syscall"
	"testing"
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

// TestCommit_RefusesACopyOlderThanWhatItConfirmed: Commit found, after a
// conflict, that another writer had stored the verdict. A copy from before
// swallows it like the Writer's own.
func TestCommit_RefusesACopyOlderThanWhatItConfirmed(t *testing.T) {
	s, stale := start(t)
	w := via(client[Run]{s}.Patch, status.Writer{})
	s.restatus("a", `{"phase":"Running"}`)
	result, err := w.Commit(t.Context(), stale, withPhase(stale, "Running"), status.Facts{})
	require.NoError(t, err)
	require.Equal(t, status.Unchanged, result)
	_, err = w.Commit(t.Context(), stale, stale.DeepCopy(), status.Facts{})
	require.ErrorIs(t, err, status.ErrStaleRead)
}

// TestCommit_GoesOnFromItsCopyThoughTheSpecMoved: after keeps the version that
// was read, and has the stored status. It is not the copy of a late cache,
// which has the same version.
func TestCommit_GoesOnFromItsCopyThoughTheSpecMoved(t *testing.T) {
	s, stale := start(t)
	w := via(client[Run]{s}.Patch, status.Writer{})
	after := withPhase(stale, "Running")
	s.respec("a", "new")
	result, err := w.Commit(t.Context(), stale, after, status.Facts{})
	require.NoError(t, err)
	require.Equal(t, status.Merged, result)
	require.Equal(t, stale.ResourceVersion, after.ResourceVersion)

	for _, phase := range []string{"Stopping", "Stopped"} {
		again := withPhase(after, phase)
		_, err = w.Commit(t.Context(), after, again, status.Facts{})
		require.NoError(t, err, "the same reconcile goes on")
		assert.Equal(t, phase, get[Run](t, s, "a").Status.Phase)
		_, err = w.Commit(t.Context(), stale, stale.DeepCopy(), status.Facts{})
		require.ErrorIs(t, err, status.ErrStaleRead, "a late cache does not")
		after = again
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
	s, stale := start(t)
	w := via(client[Run]{s}.Patch, status.Writer{}).At(noon)
	_, err := w.Commit(t.Context(), stale, withPhase(stale, "Running"), status.Facts{})
	require.NoError(t, err)

	_, err = w.At(noon.Add(5*time.Minute-time.Second)).Commit(t.Context(), stale, stale.DeepCopy(), status.Facts{})
	require.ErrorIs(t, err, status.ErrStaleRead)
	result, err := w.At(noon.Add(5*time.Minute)).Commit(t.Context(), stale, stale.DeepCopy(), status.Facts{})
	require.NoError(t, err, "the refused Commit did not prolong it")
	assert.Equal(t, status.Unchanged, result)
}

// TestCommit_RemembersByObjectAndOwnedTypes: the memory belongs to a client,
// and a Writer is copied.
func TestCommit_RemembersByObjectAndOwnedTypes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		owned  []string
		stale  bool
	}{
		"Copy":         {"A copy of the Writer is the same writer.", []string{"Ready", "Stalled"}, true},
		"AnotherOrder": {"The order of Owned does not count.", []string{"Stalled", "Ready"}, true},
		"OtherTypes":   {"Two controllers may share a client: the other one has written nothing.", []string{"Scheduled"}, false},
		"NoTypes":      {"Neither has a writer that owns nothing.", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, stale := start(t)
			reconciler := struct{ Writer status.Writer }{via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Ready", "Stalled"}})}
			_, err := reconciler.Writer.Commit(t.Context(), stale, withPhase(stale, "Running"), status.Facts{})
			require.NoError(t, err)

			another := reconciler
			another.Writer.Owned = tc.owned
			another.Writer.OnCommit = func(string, time.Duration) {}
			_, err = another.Writer.Commit(t.Context(), stale, stale.DeepCopy(), status.Facts{})
			assert.Equal(t, tc.stale, errors.Is(err, status.ErrStaleRead), tc.reason)
			if !tc.stale {
				require.NoError(t, err)
			}
		})
	}
	run := bigRun()
	_, err := status.Writer{Owned: []string{"Ready"}}.Commit(t.Context(), run, run.DeepCopy(), status.Facts{})
	require.ErrorContains(t, err, "the Writer has no client", "the zero Writer remembers nothing, and does not panic")
}

// TestCommit_SaysThatANewWriterRemembersNothing: a Writer that is made in each
// reconcile takes its own write for another writer's.
func TestCommit_SaysThatANewWriterRemembersNothing(t *testing.T) {
	s, stale := start(t)
	reconcile := func(w status.Writer, phase string) error {
		_, err := w.Commit(t.Context(), stale, withPhase(stale, phase), running)
		return err
	}
	require.NoError(t, reconcile(via(client[Run]{s}.Patch, status.Writer{}), "Running"))
	err := reconcile(via(client[Run]{s}.Patch, status.Writer{}), "Stopping")
	require.ErrorIs(t, err, status.ErrFieldConflict)
	require.ErrorContains(t, err, "make one Writer for all reconciles")

	shared := via(client[Run]{s}.Patch, status.Writer{})
	s.create("b")
	other := get[Run](t, s, "b")
	_, err = shared.Commit(t.Context(), other, withPhase(other, "Running"), running)
	require.NoError(t, err)
	err = reconcile(shared, "Stopping")
	require.ErrorIs(t, err, status.ErrFieldConflict)
	require.NotContains(t, err.Error(), "make one Writer", "a Writer that has written is one that is shared")
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

// errNoAnswer is the error of a connection that broke after the request.
var errNoAnswer = &net.OpError{Op: "read", Err: syscall.ECONNRESET}
