// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/status"
)

func TestCommit_SendsOneRequest(t *testing.T) {
	s, before := start(t)
	var opts []metav1.PatchOptions
	c := spy{client[Run]{s}, &opts}
	w := status.Writer{FieldManager: "runs"}

	result, err := via(c.Patch, w).Commit(t.Context(), before, before.DeepCopy(), status.Facts{})
	require.NoError(t, err)
	assert.Equal(t, status.Unchanged, result)
	assert.Zero(t, s.sent(), "nothing to write: no request")

	after := before.DeepCopy()
	after.Status.Phase = "Running"
	status.SetCondition(&after.Status.Conditions, cond("Ready", metav1.ConditionTrue, "Running"), noon)
	result, err = via(c.Patch, w).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	assert.Equal(t, 1, s.sent(), "fields and conditions in one")
	assert.Equal(t, []metav1.PatchOptions{{FieldManager: "runs"}}, opts)
	assert.Equal(t, get[Run](t, s, "a").ResourceVersion, after.ResourceVersion)
	assert.EqualValues(t, 1, after.Status.Conditions[0].ObservedGeneration, "filled in from before")

	// A second Commit of the same reconcile.
	next := after.DeepCopy()
	next.Status.Message = "pulling"
	result, err = via(c.Patch, w).Commit(t.Context(), after, next, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
}

type spy struct {
	client[Run]
	opts *[]metav1.PatchOptions
}

func (s spy) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string) (*Run, error) {
	*s.opts = append(*s.opts, opts)
	return s.client.Patch(ctx, name, pt, data, opts, sub...)
}

//req:shows S2
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, before := start(t)
		w := status.Writer{Heartbeat: 10 * time.Minute}
		reconcile := func(f status.Facts) status.Result {
			before = get[Run](t, s, "a")
			result, err := via(client[Run]{s}.Patch, w).Commit(t.Context(), before, before.DeepCopy(), f)
			require.NoError(t, err)
			return result
		}
		assert.Equal(t, status.Written, reconcile(running), "it started")
		writes := s.writes
		for range 60 { // an hour
			time.Sleep(time.Minute)
			reconcile(running)
		}
		assert.Equal(t, 6, s.writes-writes, "a write every ten minutes")
		assert.True(t, get[Run](t, s, "a").Status.UpdatedAt.Equal(ptr.To(metav1.Now().Rfc3339Copy())))

		reconcile(done)
		writes = s.writes
		time.Sleep(24 * time.Hour)
		assert.Equal(t, status.Unchanged, reconcile(done), "a finished run is not kept alive")
		assert.Equal(t, writes, s.writes)

		// A clock that was ahead must not silence it.
		s.create("a")
		reconcile(running)
		s.restatus("a", `{"updatedAt":"2100-01-01T00:00:00Z"}`)
		assert.Equal(t, status.Written, reconcile(running))
		assert.Equal(t, status.Unchanged, reconcile(running))

		// Without a heartbeat an idle object is silent.
		w.Heartbeat = 0
		time.Sleep(24 * time.Hour)
		assert.Equal(t, status.Unchanged, reconcile(running))
		w.Heartbeat = -time.Second
		assert.Equal(t, status.Unchanged, reconcile(running))
	})
}

func TestHeartbeat_WithoutUpdatedAt(t *testing.T) {
	s, _ := start(t)
	w := status.Writer{Heartbeat: time.Second, FieldNames: status.FieldNames{UpdatedAt: "-"}}
	before := get[Run](t, s, "a")
	result, err := via(client[Run]{s}.Patch, w).Commit(t.Context(), before, before.DeepCopy(), status.Facts{})
	require.NoError(t, err)
	assert.Equal(t, status.Unchanged, result)

	s.create("b")
	s.prunes = []string{"updatedAt"}
	pruned := via(client[Run]{s}.Patch, status.Writer{Heartbeat: time.Second})
	s.sent()
	for i := range 4 { // a schema without updatedAt never shows a heartbeat
		before = get[Run](t, s, "b")
		_, err = pruned.Commit(t.Context(), before, before.DeepCopy(), running)
		assert.Equal(t, i == 0, err != nil, "commit %d: %v", i, err)
	}
	assert.Equal(t, 1, s.sent())
}

func TestOnCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []string
		w := status.Writer{OnCommit: func(result string, took time.Duration) {
			reported = append(reported, result)
			assert.Equal(t, time.Second, took)
		}}
		commit := func(prepare func(s *server, after *Run)) {
			s, before := start(t)
			after := before.DeepCopy()
			after.Status.Phase = "Running"
			prepare(s, after)
			hook := s.before
			first := true
			c := patching(func(data []byte, sub ...string) (*Run, error) {
				if first {
					first = false
					time.Sleep(time.Second)
				}
				s.before = hook
				return client[Run]{s}.Patch(t.Context(), "a", types.MergePatchType, data, metav1.PatchOptions{}, sub...)
			})
			_, _ = via(c, w).Commit(t.Context(), before, after, running)
		}
		commit(func(*server, *Run) {})
		commit(func(s *server, _ *Run) { s.respec("a", "x") })
		commit(func(s *server, _ *Run) { s.delete("a") })
		commit(func(s *server, _ *Run) { s.delete("a"); s.create("a") })
		commit(func(s *server, _ *Run) { s.respec("a", "x"); s.restatus("a", `{"observedGeneration":2}`) })
		commit(func(s *server, _ *Run) { s.restatus("a", `{"phase":"Failed"}`) })
		commit(func(s *server, _ *Run) { s.before = func(string, []byte) { s.respec("a", "x") } })
		commit(func(s *server, _ *Run) { s.prunes = []string{"startedAt"} })
		assert.Equal(t, []string{"written", "written", "gone", "replaced", "superseded", "field_conflict", "conflict", "error"}, reported)

		reported = nil
		w.OnCommit = func(result string, _ time.Duration) { reported = append(reported, result) }
		before := bigRun()
		_, err := via(echo[*Run]{}.Patch, w).Commit(t.Context(), before, before.DeepCopy(), running)
		require.NoError(t, err)
		_, err = status.Writer{OnCommit: w.OnCommit}.Commit(t.Context(), before, before.DeepCopy(), running)
		require.ErrorContains(t, err, "the Writer has no client")
		assert.Equal(t, []string{"unchanged", "error"}, reported)
	})
}

// TestCommit_AnyDifferenceOfTheStatusIsAConflict: the other side may be the
// next instance of this controller, and its status right.
func TestCommit_AnyDifferenceOfTheStatusIsAConflict(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, theirs, names string
	}{
		"OurField":      {"Both sides set it.", `{"phase":"Failed"}`, "status.phase"},
		"TheSame":       {"It may be the own write that got no answer: the next reconcile knows.", `{"phase":"Running"}`, "status.phase"},
		"AnotherField":  {"This reconcile has not seen it.", `{"message":"crashed"}`, "status.message"},
		"Cleared":       {"Nor that it is gone.", `{"phase":null}`, "status.phase"},
		"Finished":      {"A finished run does not run again.", `{"finishedAt":"2025-06-01T12:00:00Z"}`, "status.finishedAt"},
		"AnyCondition":  {"Without Owned, each is this controller's.", `{"conditions":[]}`, "status.conditions Ready"},
		"OnlyUpdatedAt": {"updatedAt alone is not a change.", `{"updatedAt":"2025-06-01T12:00:00Z"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, before := start(t)
			after := withPhase(before, "Running")
			kept := after.DeepCopy()
			s.restatus("a", tc.theirs)
			writes := s.writes
			_, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			if tc.names == "" {
				require.NoError(t, err, tc.reason)
				return
			}
			require.ErrorIs(t, err, status.ErrFieldConflict, tc.reason)
			require.ErrorContains(t, err, ": a: "+tc.names)
			assert.Equal(t, writes, s.writes)
			assert.Equal(t, kept, after)
		})
	}
}

// TestCommit_CarriesOverWhatIsNotItsOwn: metadata, the spec, and conditions of
// other controllers.
func TestCommit_CarriesOverWhatIsNotItsOwn(t *testing.T) {
	s, before := start(t)
	after := withPhase(before, "Running")
	status.SetCondition(&after.Status.Conditions, cond("Ready", "True", "Up"), noon)
	s.relabel("a", "owner", "user")
	s.respec("a", "new")
	ready := encode(t, before.Status.Conditions[0])
	s.restatus("a", `{"conditions":[`+ready+`,{"type":"Bound","status":"True","reason":"Ok","message":"","lastTransitionTime":"2025-06-01T12:00:00Z"}]}`)
	result, err := via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Ready"}}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	stored := get[Run](t, s, "a")
	assert.Equal(t, map[string]string{"owner": "user"}, stored.Labels)
	assert.Equal(t, "new", stored.Spec.Image)
	assert.Equal(t, "Running", stored.Status.Phase)
	assert.EqualValues(t, 1, stored.Status.ObservedGeneration, "the new spec is not reconciled yet")
	require.Len(t, stored.Status.Conditions, 2)
	assert.Equal(t, "Up", stored.Status.Conditions[0].Reason)
	assert.Equal(t, "Bound", stored.Status.Conditions[1].Type)

	// The first write of another controller, too.
	s.create("b")
	fresh := get[Run](t, s, "b")
	s.restatus("b", `{"updatedAt":"2025-06-01T12:00:00Z","conditions":[{"type":"Bound","status":"True","reason":"Ok","message":"","lastTransitionTime":"2025-06-01T12:00:00Z"}]}`)
	_, err = via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Ready"}}).Commit(t.Context(), fresh, withPhase(fresh, "Running"), running)
	require.NoError(t, err)
	assert.Equal(t, "Running", get[Run](t, s, "b").Status.Phase)
	assert.Len(t, get[Run](t, s, "b").Status.Conditions, 1)

	// A condition that both have changed is a conflict, whoever owns it.
	stale := stored.DeepCopy()
	status.SetCondition(&stale.Status.Conditions, cond("Bound", "False", "Lost"), noon)
	s.restatus("a", `{"conditions":[`+encode(t, stored.Status.Conditions[0])+`,{"type":"Bound","status":"True","reason":"Other","message":"","lastTransitionTime":"2025-06-01T12:00:00Z"}]}`)
	_, err = via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Ready"}}).Commit(t.Context(), stored, stale, running)
	require.ErrorIs(t, err, status.ErrFieldConflict)

	// A condition of its own that another writer has changed is a conflict.
	s.restatus("a", `{"conditions":[`+ready+`]}`)
	_, err = via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Ready"}}).Commit(t.Context(), stored, withPhase(stored, "Stopping"), running)
	require.ErrorIs(t, err, status.ErrFieldConflict)
}

func TestCommit_RepliesWithoutAnObject(t *testing.T) {
	before := bigRun()
	for name, reply := range map[string]*Run{"Nil": nil, "Empty": {}} {
		t.Run(name, func(t *testing.T) {
			after := before.DeepCopy()
			after.Status.Phase = "Stopping"
			result, err := via(echo[*Run]{reply}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			require.NoError(t, err)
			assert.Equal(t, status.Written, result)
			assert.Equal(t, before.ResourceVersion, after.ResourceVersion)
		})
	}
	t.Run("NilAfterAConflict", func(t *testing.T) {
		s, before := start(t)
		s.respec("a", "x")
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		_, err := via(patching(func(data []byte, sub ...string) (*Run, error) {
			if string(data) == "{}" {
				return nil, nil //nolint:nilnil // what a broken fake does
			}
			return client[Run]{s}.Patch(t.Context(), "a", types.MergePatchType, data, metav1.PatchOptions{}, sub...)
		}), status.Writer{}).Commit(t.Context(), before, after, running)
		require.ErrorIs(t, err, status.ErrReplaced, "an object without a uid is another one")
	})
}

func TestCommit_CancelledContextEndsTheRetries(t *testing.T) {
	s, before := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.respec("a", "x")
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	requests := 0
	_, err := via(patching(func(data []byte, sub ...string) (*Run, error) {
		requests++
		defer cancel()
		return client[Run]{s}.Patch(context.WithoutCancel(ctx), "a", types.MergePatchType, data, metav1.PatchOptions{}, sub...)
	}), status.Writer{}).Commit(ctx, before, after, running)
	require.Error(t, err)
	assert.Equal(t, 1, requests)
}

func TestWriter_ManyGoroutines(t *testing.T) {
	s := newServer(t)
	w := status.Writer{Owned: []string{"Ready"}}
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		s.create(name)
		before := get[Run](t, s, name)
		wg.Go(func() {
			after := before.DeepCopy()
			after.Status.Phase = name
			w.SetConditions(&after.Status.Conditions, noon, cond("Ready", "True", "Ok"))
			_, err := via(client[Run]{s}.Patch, w).Commit(t.Context(), before, after, running)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	for _, name := range []string{"a", "b", "c", "d"} {
		assert.Equal(t, name, get[Run](t, s, name).Status.Phase)
	}
}

//req:shows S2
func TestCommit_IdleControllerWritesNothing(t *testing.T) {
	s, _ := start(t)
	s.sent()
	for range 100 { // each write would be an event that causes the next
		before := get[Run](t, s, "a")
		after := before.DeepCopy()
		after.Status.UpdatedAt = at(time.Hour) // as many controllers do; the contract ignores it
		status.SetCondition(&after.Status.Conditions, cond("Ready", metav1.ConditionFalse, "Pending"), time.Now())
		result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, status.Facts{})
		require.NoError(t, err)
		require.Equal(t, status.Unchanged, result)
	}
	assert.Zero(t, s.sent())
}

func TestCommit_TakesAtMostOneFacts(t *testing.T) {
	s, before := start(t)
	w := via(client[Run]{s}.Patch, status.Writer{})
	_, err := w.Commit(t.Context(), before, before.DeepCopy(), running, done)
	require.EqualError(t, err, "status: commit: 2 Facts are given; want at most one")

	kept := []status.Facts{running, done}
	_, err = w.Commit(t.Context(), before, withPhase(before, "Running"), kept[:0]...)
	require.NoError(t, err)
	assert.Equal(t, []status.Facts{running, done}, kept, "the caller's slice is not written to")
	assert.Nil(t, get[Run](t, s, "a").Status.StartedAt, "no Facts: it waits")
}
