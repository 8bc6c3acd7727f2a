// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// TestCommit_RefusesACopyWithoutAWriteThatIsDone: its write conflicts, and is
// not merged with the own one.
func TestCommit_RefusesACopyWithoutAWriteThatIsDone(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
	}{
		"TimedOut":       {"The copy is older than the own write.", context.DeadlineExceeded},
		"Broken":         {"The same.", errNoAnswer},
		"ServerTimeout":  {"A server that gave up may have done it.", apierrors.NewTimeoutError("late", 1)},
		"InternalError":  {"A write that failed may be stored.", apierrors.NewInternalError(errNoAnswer)},
		"RequestTimeout": {"408 comes from a proxy.", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusRequestTimeout}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, stale := start(t)
			w := failedOnce(t, s, stale, tc.err, true)
			_, err := w.Commit(t.Context(), stale, withPhase(stale, "Failed"), status.Facts{})
			require.ErrorIs(t, err, status.ErrStaleRead, tc.reason)
			assert.Equal(t, "Running", get[Run](t, s, "a").Status.Phase)
			assert.Equal(t, 1, s.sent(), "one request is enough")
			_, err = w.Commit(t.Context(), stale, stale.DeepCopy(), status.Facts{})
			require.ErrorIs(t, err, status.ErrStaleRead, "also if there is nothing to write")
		})
	}
}

// TestCommit_WritesAgainAfterAWriteThatFailed: one request is enough.
func TestCommit_WritesAgainAfterAWriteThatFailed(t *testing.T) {
	runs := schema.GroupResource{Group: "example.com", Resource: "runs"}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, tc := range map[string]struct {
		reason string
		err    error
		done   bool // the API server did the write, and the next copy has it
	}{
		"DoneAndSeen": {"A copy with a newer version has the write.", errNoAnswer, true},
		"NotDone":     {"The copy is the newest.", errNoAnswer, false},
		"Refused":     {"Without a connection nothing was sent.", refused, false},
		"Forbidden":   {"An API server that refuses a request did not do it.", apierrors.NewForbidden(runs, "a", errors.New("no right")), false},
		"TooMany":     {"An overloaded server has not stored it.", apierrors.NewTooManyRequests("later", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			s, before := start(t)
			w := failedOnce(t, s, before, tc.err, tc.done)
			if tc.done {
				before = get[Run](t, s, "a")
			}
			result, err := w.Commit(t.Context(), before, withPhase(before, "Failed"), status.Facts{})
			require.NoError(t, err)
			assert.Equal(t, 1, s.sent(), tc.reason)
			assert.Equal(t, status.Written, result)
			assert.Equal(t, "Failed", get[Run](t, s, "a").Status.Phase)
		})
	}
}

// failedOnce returns a Writer whose first write, of the phase Running, ended
// with an error, done or not.
func failedOnce(t *testing.T, s *server, before *Run, fail error, done bool) status.Writer {
	t.Helper()
	first := true
	w := via(func(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*Run, error) {
		if !first {
			return client[Run]{s}.Patch(ctx, name, pt, data, o, sub...)
		}
		first = false
		if done {
			_, err := client[Run]{s}.Patch(ctx, name, pt, data, o, sub...)
			require.NoError(t, err)
		}
		return nil, fail
	}, status.Writer{})
	_, err := w.Commit(t.Context(), before, withPhase(before, "Running"), status.Facts{})
	require.ErrorIs(t, err, fail)
	s.sent()
	return w
}

// TestCommit_ALateWriteChangesNothing: the API server does a write after its
// client gave up, and after the next Commit, which returns to the old verdict.
func TestCommit_ALateWriteChangesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		names  status.FieldNames
		after  time.Duration // between the two Commits
		want   status.Result
		sent   int
	}{
		"UpdatedAt":    {"A write of updatedAt makes the late one fail.", status.FieldNames{}, time.Minute, status.Written, 1},
		"SameSecond":   {"It would change nothing, so the caller tries again.", status.FieldNames{}, 0, "", 0},
		"NoUpdatedAt":  {"Nothing can be written, so the caller tries again.", status.FieldNames{UpdatedAt: "-"}, time.Minute, "", 0},
		"IsNoLongerUp": {"A request does not live for five minutes.", status.FieldNames{UpdatedAt: "-"}, 5 * time.Minute, status.Unchanged, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			s.restatus("a", fmt.Sprintf(`{"observedGeneration":1,"updatedAt":%q,"phase":"Pending"}`, noon.Format(time.RFC3339)))
			before := get[Run](t, s, "a")
			var late []byte
			w := via(func(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*Run, error) {
				if late == nil {
					late = data
					return nil, context.DeadlineExceeded
				}
				return client[Run]{s}.Patch(ctx, name, pt, data, o, sub...)
			}, status.Writer{FieldNames: tc.names}).At(noon)
			_, err := w.Commit(t.Context(), before, withPhase(before, "Running"), status.Facts{})
			require.ErrorIs(t, err, context.DeadlineExceeded)

			result, err := w.At(noon.Add(tc.after)).Commit(t.Context(), before, before.DeepCopy(), status.Facts{})
			assert.Equal(t, tc.sent, s.sent(), tc.reason)
			assert.Equal(t, tc.want, result)
			if tc.want == "" {
				require.ErrorIs(t, err, status.ErrStaleRead, tc.reason)
				assert.ErrorContains(t, err, "5m0s")
				return
			}
			require.NoError(t, err)
			if tc.want == status.Written {
				_, err = s.patch(t.Context(), "a", late, true)
				require.True(t, apierrors.IsConflict(err), "%v", err)
				assert.Equal(t, "Pending", get[Run](t, s, "a").Status.Phase)
			}
		})
	}
}

// TestCommit_ALateWriteIsNotMerged: it is done before the write of the next
// Commit.
func TestCommit_ALateWriteIsNotMerged(t *testing.T) {
	s, before := start(t)
	var late []byte
	w := via(func(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*Run, error) {
		if late == nil {
			late = data
			return nil, context.DeadlineExceeded
		}
		return client[Run]{s}.Patch(ctx, name, pt, data, o, sub...)
	}, status.Writer{})
	after := withPhase(before, "Running")
	after.Status.Message = "of the first reconcile"
	_, err := w.Commit(t.Context(), before, after, status.Facts{})
	require.ErrorIs(t, err, context.DeadlineExceeded)

	s.before = func(name string, _ []byte) {
		s.restatus(name, `{"phase":"Running","message":"of the first reconcile"}`)
	}
	again := before.DeepCopy()
	again.Status.Reason = "OfTheSecond"
	_, err = w.Commit(t.Context(), before, again, status.Facts{})
	require.ErrorIs(t, err, status.ErrStaleRead)
	stored := get[Run](t, s, "a")
	assert.Empty(t, stored.Status.Reason, "the verdicts of two reconciles are not mixed")
}

// TestCommit_GoesOnWithAFakeThatKeepsTheVersion: a fake of client-go does not
// change the resourceVersion. A test that lets one write fail then works as
// without a memory.
func TestCommit_GoesOnWithAFakeThatKeepsTheVersion(t *testing.T) {
	before := bigRun()
	fail := true
	stored := withPhase(before, "Stopping")
	w := via(patching(func([]byte, ...string) (*Run, error) {
		if fail {
			return nil, errNoAnswer
		}
		return stored, nil
	}), status.Writer{FieldNames: status.FieldNames{UpdatedAt: "-"}})
	_, err := w.Commit(t.Context(), before, withPhase(before, "Stopping"), running)
	require.ErrorIs(t, err, errNoAnswer)
	fail = false
	for _, want := range []status.Result{status.Written, status.Unchanged} {
		result, err := w.Commit(t.Context(), before, withPhase(before, "Stopping"), running)
		require.NoError(t, err)
		assert.Equal(t, want, result)
		before = stored
	}
}

// TestCommit_AfterAWriteWithoutAnswer: the object may be gone, or the API
// server may still be away.
func TestCommit_AfterAWriteWithoutAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(s *server)
		result  status.Result
		err     error
	}{
		"Deleted":   {func(s *server) { s.delete("a") }, status.Gone, nil},
		"Recreated": {func(s *server) { s.delete("a"); s.create("a") }, "", status.ErrStaleRead},
		"Fails":     {func(*server) {}, "", errNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			s, stale := start(t)
			answers := false
			w := via(func(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*Run, error) {
				if !answers {
					return nil, errNoAnswer
				}
				return client[Run]{s}.Patch(ctx, name, pt, data, o, sub...)
			}, status.Writer{})
			_, err := w.Commit(t.Context(), stale, withPhase(stale, "Running"), status.Facts{})
			require.ErrorIs(t, err, errNoAnswer)
			answers = name != "Fails"
			tc.happens(s)
			writes := s.writes
			result, err := w.Commit(t.Context(), stale, withPhase(stale, "Failed"), status.Facts{})
			require.ErrorIs(t, err, tc.err)
			assert.Equal(t, tc.result, result)
			assert.Equal(t, writes, s.writes)
		})
	}
}

// calling is an object whose methods commit another object, as no object does
// that is in its right mind.
type calling struct {
	unstructured.Unstructured

	call func()
}

func (c *calling) GetUID() types.UID { c.call(); return c.Unstructured.GetUID() }

func (c *calling) GetResourceVersion() string { c.call(); return c.Unstructured.GetResourceVersion() }

func (c *calling) GetObjectKind() schema.ObjectKind { c.call(); return c.Unstructured.GetObjectKind() }

func (c *calling) DeepCopyObject() runtime.Object {
	return &calling{*c.DeepCopy(), c.call}
}

// TestCommit_CallsNothingOfTheCallerUnderItsLock: methods of the object, the
// client and the hooks may use the same Writer.
func TestCommit_CallsNothingOfTheCallerUnderItsLock(t *testing.T) {
	s := newServer(t)
	s.prunes = []string{"lost"}
	s.create("a")
	s.create("b")
	var w status.Writer
	depth := 0
	other := func() {
		if depth > 0 {
			return
		}
		depth++
		defer func() { depth-- }()
		b := &calling{*get[unstructured.Unstructured](t, s, "b"), func() {}}
		next := b.DeepCopyObject().(*calling)
		require.NoError(t, unstructured.SetNestedField(next.Object, fmt.Sprint(s.version), "status", "phase"))
		_, err := w.Commit(t.Context(), b, next, status.Facts{})
		require.NoError(t, err)
	}
	w = via(func(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*calling, error) {
		other()
		reply, err := client[unstructured.Unstructured]{s}.Patch(ctx, name, pt, data, o, sub...)
		if err != nil {
			return nil, err
		}
		return &calling{*reply, other}, nil
	}, status.Writer{})
	w.Redact = func(message string) string { other(); return message }
	w.OnCommit = func(string, time.Duration) { other() }
	for i := range 3 {
		a := &calling{*get[unstructured.Unstructured](t, s, "a"), other}
		next := a.DeepCopyObject().(*calling)
		require.NoError(t, unstructured.SetNestedField(next.Object, fmt.Sprint(i), "status", "phase"))
		require.NoError(t, unstructured.SetNestedField(next.Object, "x", "status", "lost"))
		_, err := w.Commit(t.Context(), a, next, status.Facts{})
		assert.Equal(t, i == 0, err != nil, "%v", err)
	}
}

// TestCommit_RemembersForConcurrentReconciles: each of eight workers reconciles
// its own objects with a copy of one Writer, from caches that are late.
func TestCommit_RemembersForConcurrentReconciles(t *testing.T) {
	s := newServer(t)
	w := via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Ready"}})
	var wg sync.WaitGroup
	var first, second [8][20]error
	for worker := range first {
		wg.Go(func() {
			for i := range first[worker] {
				name := fmt.Sprintf("run-%d-%d", worker, i)
				s.create(name)
				stale := get[Run](t, s, name)
				_, first[worker][i] = w.Commit(t.Context(), stale, withPhase(stale, "Running"), running)
				_, second[worker][i] = w.Commit(t.Context(), stale, stale.DeepCopy(), running)
			}
		})
	}
	wg.Wait()
	for worker := range first {
		for i := range first[worker] {
			require.NoError(t, first[worker][i])
			require.ErrorIs(t, second[worker][i], status.ErrStaleRead)
			require.ErrorContains(t, second[worker][i], fmt.Sprintf("run-%d-%d", worker, i))
		}
	}
}
