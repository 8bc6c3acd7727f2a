// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
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
			assert.ErrorContains(t, err, "reconcile again when the cache has caught up", "the remedy")
			assert.ErrorContains(t, err, "5m0s", "how long it lasts at most")
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

// TestCommit_ComparesOnlyVersionsOfOneObject: fakes leave out what an API server
// sets, and then there is nothing to compare.
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

// TestCommit_ReadsFirstAfterAWriteWithoutAnswer: the write may have been done.
func TestCommit_ReadsFirstAfterAWriteWithoutAnswer(t *testing.T) {
	runs := schema.GroupResource{Group: "example.com", Resource: "runs"}
	for name, tc := range map[string]struct {
		reason string
		err    error
		done   bool // the API server did the write
		fresh  bool // the next copy has it
		reads  int
		stale  bool
	}{
		"TimedOutAndDone": {"The copy is older than the own write.", context.DeadlineExceeded, true, false, 1, true},
		"BrokenAndDone":   {"The same.", errNoAnswer, true, false, 1, true},
		"DoneAndSeen":     {"A copy with a newer version has the write.", errNoAnswer, true, true, 0, false},
		"NotDone":         {"The read shows that the copy is the newest.", errNoAnswer, false, false, 1, false},
		"ServerTimeout":   {"A server that gave up may have done it.", apierrors.NewTimeoutError("late", 1), true, false, 1, true},
		"InternalError":   {"So may one that failed.", apierrors.NewInternalError(errNoAnswer), true, false, 1, true},
		"RequestTimeout": {"408 comes from a proxy.", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusRequestTimeout}},
			true, false, 1, true},
		"Refused": {"Without a connection nothing was sent.", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false, false, 0, false},
		"Forbidden": {"An API server that refuses a request did not do it.",
			apierrors.NewForbidden(runs, "a", errors.New("no right")), false, false, 0, false},
		"TooMany": {"So does one that is overloaded.", apierrors.NewTooManyRequests("later", 1), false, false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, stale := start(t)
			fail := tc.err
			w := via(func(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*Run, error) {
				if fail != nil && !tc.done {
					return nil, fail
				}
				reply, err := client[Run]{s}.Patch(ctx, name, pt, data, o, sub...)
				if fail != nil {
					return nil, fail
				}
				return reply, err
			}, status.Writer{})
			_, err := w.Commit(t.Context(), stale, withPhase(stale, "Running"), status.Facts{})
			require.ErrorIs(t, err, tc.err)
			s.sent()
			fail = nil

			next := stale
			if tc.fresh {
				next = get[Run](t, s, "a")
			}
			result, err := w.Commit(t.Context(), next, withPhase(next, "Failed"), status.Facts{})
			s.mu.Lock()
			requests := s.requests
			s.mu.Unlock()
			reads := 0
			for _, request := range requests {
				if request == "status {}" {
					reads++
				}
			}
			assert.Equal(t, tc.reads, reads, tc.reason)
			if tc.stale {
				require.ErrorIs(t, err, status.ErrStaleRead, tc.reason)
				assert.Len(t, requests, tc.reads, "nothing is written")
				assert.Equal(t, "Running", get[Run](t, s, "a").Status.Phase)
				s.sent()
				_, err = w.Commit(t.Context(), next, next.DeepCopy(), status.Facts{})
				require.ErrorIs(t, err, status.ErrStaleRead)
				assert.Zero(t, s.sent(), "one read is enough")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, status.Written, result)
			assert.Equal(t, "Failed", get[Run](t, s, "a").Status.Phase)
		})
	}
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
		"UpdatedAt":    {"A write of updatedAt makes the late one fail.", status.FieldNames{}, time.Minute, status.Written, 2},
		"SameSecond":   {"It would change nothing, so the caller tries again.", status.FieldNames{}, 0, "", 1},
		"NoUpdatedAt":  {"Nothing can be written, so the caller tries again.", status.FieldNames{UpdatedAt: "-"}, time.Minute, "", 1},
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

// TestCommit_ALateWriteIsNotMerged: it is done between the read and the write
// of the next Commit.
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

	s.before = func(name string, data []byte) {
		if string(data) != "{}" {
			s.restatus(name, `{"phase":"Running","message":"of the first reconcile"}`)
		}
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

// TestCommit_ReadAfterAWriteWithoutAnswer: the read finds what became of the
// object, and may fail.
func TestCommit_ReadAfterAWriteWithoutAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(s *server)
		result  status.Result
		err     error
	}{
		"Deleted":   {func(s *server) { s.delete("a") }, status.Gone, nil},
		"Recreated": {func(s *server) { s.delete("a"); s.create("a") }, "", status.ErrReplaced},
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
	return &calling{*c.Unstructured.DeepCopy(), c.call}
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
	for worker := range 8 {
		wg.Go(func() {
			for i := range 20 {
				name := fmt.Sprintf("run-%d-%d", worker, i)
				s.create(name)
				stale := get[Run](t, s, name)
				_, err := w.Commit(t.Context(), stale, withPhase(stale, "Running"), running)
				assert.NoError(t, err)
				_, err = w.Commit(t.Context(), stale, stale.DeepCopy(), running)
				assert.ErrorIs(t, err, status.ErrStaleRead)
				assert.True(t, strings.Contains(err.Error(), name), "%v", err)
			}
		})
	}
	wg.Wait()
}
