// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// TestCommit_KeepsTheContractUnderEveryInterleaving runs eight writers, each
// with its condition and a stale cache, on a few objects whose specs change,
// and which are deleted and recreated. Half the writers are typed and half are
// not. Users write between a read and a write, and replies get lost. Every
// stored version is checked.
//
//req:shows S4
func TestCommit_KeepsTheContractUnderEveryInterleaving(t *testing.T) {
	const writers, objects, rounds = 8, 6, 150
	s := newServer(t)
	h := &history{last: map[types.UID]*Run{}, counts: map[string]int{}}
	s.stored = func(o map[string]any) { h.note(t, o) }
	for i := range objects {
		s.create(fmt.Sprint("run-", i))
	}

	var wg sync.WaitGroup
	for id := range writers {
		w := &interleaved{
			s: s, h: h, rand: rand.New(rand.NewPCG(uint64(id), 7)), own: fmt.Sprint("Writer", id), untyped: id%2 == 1,
			said: map[types.UID]string{}, cache: map[string]*Run{}, older: map[string]*Run{},
		}
		w.writer = status.Writer{Owned: []string{w.own}, OnCommit: h.count}
		if id == 7 {
			w.writer.Retries = -1
		}
		wg.Go(func() {
			for round := range rounds {
				w.act(fmt.Sprint("run-", w.rand.IntN(objects)), round)
			}
		})
	}
	wg.Wait()
	t.Log(h.counts)
	for _, label := range []string{
		"written", "merged", "unchanged", "gone", "superseded", "replaced", "field_conflict", "conflict", "error",
	} {
		assert.NotZero(t, h.counts[label], label)
	}
}

// interleaved is one of several writers. It is one goroutine.
type interleaved struct {
	s       *server
	h       *history
	rand    *rand.Rand
	writer  status.Writer
	own     string // the type of its condition
	untyped bool

	acting  int64                // the generation of what it reconciles now
	message string               // and what its condition says; "" for nothing new
	said    map[types.UID]string // its last message that was stored

	cache, older map[string]*Run // the last copy that was read, and the one before
}

// act may change an object as a user does, and reconciles it from a copy that
// may be stale.
func (w *interleaved) act(name string, round int) {
	t := w.s.t
	switch {
	case round%37 == 36:
		w.h.do(func() { w.s.delete(name); w.s.create(name) })
	case round%11 == 10:
		w.h.do(func() { w.s.respec(name, fmt.Sprint(w.own, round)) })
	}
	if w.cache[name] == nil || w.rand.IntN(3) > 0 { // else reconcile from a stale copy
		w.older[name] = w.cache[name]
		w.cache[name] = w.h.get(t, w.s, name)
	}
	runtime.Gosched() // the others write now, where there is one processor for all too
	before := w.cache[name]
	if w.older[name] != nil && w.rand.IntN(10) == 0 {
		before = w.older[name] // as after a restart: older than what it wrote itself
	}
	w.reconcile(before, round)
	stored := w.h.get(t, w.s, name)
	if w.said[stored.UID] != "" {
		assert.Equal(t, w.said[stored.UID], conditionOf(stored, w.own).Message, "what this writer said is still there")
	}
}

// reconcile computes a status from a copy that was read, and commits it.
func (w *interleaved) reconcile(before *Run, round int) {
	t := w.s.t
	after, facts := before.DeepCopy(), status.Facts{}
	w.acting, w.message = before.Generation, ""
	if what := w.rand.IntN(10); what > 0 { // else nothing is new
		facts.Progress = status.Progress(w.rand.IntN(3))
		w.message = fmt.Sprintf("%s %03d", before.UID, round)
		w.writer.SetConditions(&after.Status.Conditions, noon, metav1.Condition{
			Type: w.own, Status: metav1.ConditionTrue, Reason: "Ok", Message: w.message,
		})
		if what < 4 {
			after.Status.Phase = w.own + w.message // a field that all of them write
		}
	}
	read := before.DeepCopy()
	var result status.Result
	var err error
	if w.untyped {
		patch := link(w, client[unstructured.Unstructured]{w.s}.Patch)
		result, err = via(patch, w.writer).Commit(t.Context(), asUnstructured(t, before), asUnstructured(t, after), facts)
	} else {
		result, err = via(link(w, client[Run]{w.s}.Patch), w.writer).Commit(t.Context(), before, after, facts)
	}
	assert.Equal(t, read, before, "Commit changed what was read")
	switch {
	case err == nil && result != status.Gone && w.message != "":
		assert.Equal(t, w.message, w.said[before.UID], "Commit reports %s", result)
	case err == nil, errors.Is(err, errReplyLost), errors.Is(err, status.ErrSuperseded), errors.Is(err, status.ErrReplaced),
		errors.Is(err, status.ErrFieldConflict), apierrors.IsConflict(err):
	default:
		assert.Fail(t, "unexpected", err)
	}
}

var errReplyLost = errors.New("the reply was lost")

// link is a writer's client. A user may write before a request, or the object
// may be gone until it ends, and the reply of a write may get lost.
func link[T status.Object](w *interleaved, patch patchFunc[T]) patchFunc[T] {
	return func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string) (T, error) {
		switch w.rand.IntN(50) {
		case 0:
			w.h.do(func() { w.s.respec(name, w.own+w.message) })
		case 1:
			w.h.mu.Lock()
			defer w.h.mu.Unlock()
			w.s.delete(name)
			defer w.s.create(name)
		}
		reply, err := patch(ctx, name, pt, data, opts, sub...)
		if err != nil || string(data) == "{}" {
			return reply, err
		}
		stored, err := decode[Run]([]byte(encode(w.s.t, reply)))
		assert.Equal(w.s.t, w.acting, stored.Status.ObservedGeneration, "it claims the generation that it acted on")
		if c := conditionOf(stored, w.own); w.message != "" {
			assert.Equal(w.s.t, w.acting, c.ObservedGeneration, "and so does its condition")
			w.said[stored.UID] = c.Message
		}
		if w.rand.IntN(20) == 0 {
			err = errReplyLost
		}
		return reply, err
	}
}

// conditionOf returns the condition of a type, or the zero condition.
func conditionOf(r *Run, typ string) metav1.Condition {
	for _, c := range r.Status.Conditions {
		if c.Type == typ {
			return c
		}
	}
	return metav1.Condition{}
}

// history checks each version that is stored against the one before.
type history struct {
	mu     sync.Mutex         // no object is gone, but for who has it
	last   map[types.UID]*Run // under the server's lock
	counts map[string]int
}

func (h *history) do(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

func (h *history) get(t *testing.T, s *server, name string) *Run {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	return get[Run](t, s, name)
}

func (h *history) note(t *testing.T, o map[string]any) {
	t.Helper()
	now, err := decode[Run]([]byte(encode(t, o)))
	require.NoError(t, err)
	was := h.last[now.UID]
	if was == nil {
		was = &Run{}
	}
	h.last[now.UID] = now
	assert.Empty(t, statustest.Check(was.Status.Stamp, now.Status.Stamp, now.Generation))
	for _, c := range was.Status.Conditions {
		is := conditionOf(now, c.Type)
		assert.LessOrEqual(t, c.Message, is.Message, "a condition went back")
		assert.LessOrEqual(t, c.ObservedGeneration, is.ObservedGeneration, "a condition went back")
	}
	for _, c := range now.Status.Conditions {
		assert.LessOrEqual(t, c.ObservedGeneration, now.Generation)
		assert.Contains(t, c.Message, string(now.UID)+" ", "a condition of a deleted object")
		assert.False(t, c.LastTransitionTime.IsZero())
	}
}

func (h *history) count(result string, _ time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[result]++
}

//req:shows S3
func TestObserve_KeepsTheContract(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		var s status.Stamp
		now, generation := noon, int64(0)
		for range 20 {
			generation += r.Int64N(2)
			now = now.Add(time.Duration(r.IntN(7200)-3600) * time.Second) // clocks of several replicas
			before := *s.DeepCopy()
			_, err := s.Observe(status.Facts{Progress: status.Progress(r.IntN(3))}, generation, now)
			require.NoError(t, err)
			s.UpdatedAt = ptr.To(metav1.NewTime(now))
			require.Empty(t, statustest.Check(before, s, generation))
		}
	}
}
