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
}

func TestOnCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		w := status.Writer{Retries: 1, OnCommit: func(result string, took time.Duration) {
			told = append(told, result)
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
		assert.Equal(t, []string{"written", "merged", "gone", "replaced", "superseded", "field_conflict", "conflict", "error"}, told)

		told = nil
		w.OnCommit = func(result string, _ time.Duration) { told = append(told, result) }
		before := bigRun()
		_, err := via(echo[*Run]{}.Patch, w).Commit(t.Context(), before, before.DeepCopy(), running)
		require.NoError(t, err)
		_, err = status.Writer{OnCommit: w.OnCommit}.Commit(t.Context(), before, before.DeepCopy(), running)
		require.ErrorContains(t, err, "the Writer has no client")
		assert.Equal(t, []string{"unchanged", "error"}, told)
	})
}

func TestCommit_MergesFields(t *testing.T) {
	cases := map[string]struct {
		reason string
		ours   func(*Run)
		theirs string
		want   func(*testing.T, *Run)
		field  string // of ErrFieldConflict
	}{
		"Different": {
			reason: "Fields that one side changed are that side's.",
			ours:   func(r *Run) { r.Status.Phase = "Running"; r.Status.JobRef = &JobRef{Name: "a", UID: "1"} },
			theirs: `{"message":"hello","runtimeRef":{"node":"n2"}}`,
			want: func(t *testing.T, r *Run) {
				t.Helper()
				assert.Equal(t, "Running", r.Status.Phase)
				assert.Equal(t, "hello", r.Status.Message)
				assert.Equal(t, map[string]string{"node": "n2"}, r.Status.Runtime)
			},
		},
		"Same": {
			reason: "The same change is none to dispute.",
			ours:   func(r *Run) { r.Status.Phase = "Running" },
			theirs: `{"phase":"Running"}`,
			want:   func(t *testing.T, r *Run) { t.Helper(); assert.Equal(t, "Running", r.Status.Phase) },
		},
		"TheyCleared": {
			reason: "A field that they cleared and we did not touch is cleared.",
			ours:   func(r *Run) { r.Status.Message = "x" },
			theirs: `{"phase":null}`,
			want:   func(t *testing.T, r *Run) { t.Helper(); assert.Empty(t, r.Status.Phase) },
		},
		"EmptyForNone": {
			reason: "A map that is empty now and was none before is not touched: both are stored as nothing.",
			ours:   func(r *Run) { r.Status.Phase, r.Status.Runtime = "Running", map[string]string{} },
			theirs: `{"runtimeRef":{"node":"n2"}}`,
			want: func(t *testing.T, r *Run) {
				t.Helper()
				assert.Equal(t, map[string]string{"node": "n2"}, r.Status.Runtime)
			},
		},
		"WeCleared": {
			reason: "A field that we cleared and they did not touch is cleared.",
			ours:   func(r *Run) { r.Status.Phase = "" },
			theirs: `{"message":"x"}`,
			want:   func(t *testing.T, r *Run) { t.Helper(); assert.Empty(t, r.Status.Phase) },
		},
		"TheyStarted": {
			reason: "The stored startedAt stays.",
			ours:   func(r *Run) { r.Status.Message = "x" },
			theirs: `{"startedAt":"2025-01-01T00:00:00Z"}`,
			want: func(t *testing.T, r *Run) {
				t.Helper()
				assert.Equal(t, "2025-01-01T00:00:00Z", r.Status.StartedAt.UTC().Format(time.RFC3339))
			},
		},
		"Disputed": {
			reason: "A reference with a half of each side would refer to nothing: a field is one unit.",
			ours:   func(r *Run) { r.Status.JobRef = &JobRef{Name: "mine", UID: "1"} },
			theirs: `{"jobRef":{"name":"theirs","uid":"2"}}`,
			field:  "status: another writer changed the same field: a: status.jobRef",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, before := start(t)
			after := before.DeepCopy()
			tc.ours(after)
			s.restatus("a", tc.theirs)
			writes := s.writes
			_, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			if tc.field != "" {
				require.ErrorIs(t, err, status.ErrFieldConflict, tc.reason)
				require.ErrorContains(t, err, tc.field)
				assert.Equal(t, writes, s.writes)
				return
			}
			require.NoError(t, err, tc.reason)
			stored := get[Run](t, s, "a")
			tc.want(t, stored)
			assert.JSONEq(t, encode(t, stored.Status), encode(t, after.Status), "after holds what is stored")
		})
	}
}

func TestCommit_ReportsAnUndeclaredField(t *testing.T) {
	for _, field := range []string{"observedGeneration", "updatedAt", "startedAt", "finishedAt"} {
		s := newServer(t)
		s.create("a")
		s.prunes = []string{field}
		before := get[Run](t, s, "a")
		result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, before.DeepCopy(), status.Facts{Progress: status.Done, StartedAt: noon})
		require.ErrorContains(t, err, "status."+field, "or each reconcile would write it again")
		assert.Equal(t, status.Written, result)
	}
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
		require.ErrorContains(t, err, "the object after a conflict is nil")
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
