// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
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
		"WrittenIsTooLarge":   {"A number has 64 bits.", "u", "1", "1", "99999999999999999999999"},
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

// TestCommit_RemembersTheNewestOfTwoReplies: that of the first write comes
// after that of the second.
func TestCommit_RemembersTheNewestOfTwoReplies(t *testing.T) {
	atVersion := func(version string) *Run {
		r := bigRun()
		r.ResourceVersion = version
		return r
	}
	var w status.Writer
	var commit func(before *Run)
	writes := 0
	w = via(patching(func([]byte, ...string) (*Run, error) {
		writes++
		if writes == 2 {
			return withPhase(atVersion("3"), "Stopping"), nil
		}
		commit(atVersion("2"))
		return withPhase(atVersion("2"), "Stopping"), nil
	}), status.Writer{FieldNames: status.FieldNames{UpdatedAt: "-"}})
	commit = func(before *Run) {
		_, err := w.Commit(t.Context(), before, withPhase(before, "Stopping"), running)
		require.NoError(t, err)
	}
	commit(atVersion("1"))
	assert.Equal(t, 2, writes)
	assert.True(t, w.IsStale(atVersion("2")))
}
