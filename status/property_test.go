// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
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
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/status"
)

// TestCommit_KeepsTheContractUnderEveryInterleaving runs eight writers, each
// with its condition and a stale cache, on a few objects whose specs change,
// and which are deleted and recreated. internal/e2e does the same on a real API
// server.
//
//req:shows S4
func TestCommit_KeepsTheContractUnderEveryInterleaving(t *testing.T) {
	const writers, objects, rounds = 8, 6, 150
	s := newServer(t)
	for i := range objects {
		s.create(fmt.Sprint("run-", i))
	}
	h := &history{last: map[string]*Run{}, counts: map[string]int{}}

	var wg sync.WaitGroup
	for id := range writers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(id), 7))
			own := fmt.Sprint("Writer", id)
			w := status.Writer{Owned: []string{own}}
			cache := map[string]*Run{}
			said := map[string]string{} // by uid: the last message that Commit reported as stored
			for round := range rounds {
				name := fmt.Sprint("run-", r.IntN(objects))
				switch {
				case round%37 == 36:
					h.do(s, func() { s.delete(name); s.create(name) })
				case round%11 == 10:
					h.do(s, func() { s.respec(name, fmt.Sprint(id, round)) })
				}
				if cache[name] == nil || r.IntN(3) > 0 { // else reconcile from a stale copy
					cache[name] = h.get(t, s, name)
				}
				runtime.Gosched() // the others write now, where there is one processor for all too
				before := cache[name]
				after := before.DeepCopy()
				message := fmt.Sprint("round ", round)
				w.SetConditions(&after.Status.Conditions, noon, metav1.Condition{
					Type: own, Status: metav1.ConditionTrue, Reason: "Ok", Message: message, ObservedGeneration: before.Generation,
				})
				result, err := via(client[Run]{s}.Patch, w).Commit(t.Context(), before, after, status.Facts{Progress: status.Progress(r.IntN(3))})
				h.count(result, err)
				switch {
				case err == nil && result != status.Gone:
					said[string(before.UID)] = message
				case err == nil, errors.Is(err, status.ErrSuperseded), errors.Is(err, status.ErrReplaced), apierrors.IsConflict(err):
				default:
					assert.Fail(t, "unexpected", err)
				}
				if stored := h.get(t, s, name); said[string(stored.UID)] != "" {
					assert.Equal(t, said[string(stored.UID)], messageOf(stored, own), "what this writer said is still there")
				}
			}
		})
	}
	wg.Wait()
	t.Log(h.counts)
	for _, label := range []string{"written", "merged", "superseded", "replaced"} {
		assert.NotZero(t, h.counts[label], label)
	}
}

func messageOf(r *Run, typ string) string {
	for _, c := range r.Status.Conditions {
		if c.Type == typ {
			return c.Message
		}
	}
	return ""
}

// history checks each object that is read against the one read before.
type history struct {
	mu     sync.Mutex
	last   map[string]*Run
	counts map[string]int
}

func (h *history) do(s *server, change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

func (h *history) get(t *testing.T, s *server, name string) *Run {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	now := get[Run](t, s, name)
	if was := h.last[name]; was != nil && was.UID == now.UID {
		assert.Empty(t, status.Check(was.Status.Stamp, now.Status.Stamp, now.Generation))
	} else {
		assert.Empty(t, status.Check(status.Stamp{}, now.Status.Stamp, now.Generation))
	}
	for _, c := range now.Status.Conditions {
		assert.LessOrEqual(t, c.ObservedGeneration, now.Generation, "a condition of a deleted object")
	}
	h.last[name] = now.DeepCopy()
	return now
}

func (h *history) count(result status.Result, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	label := string(result)
	switch {
	case errors.Is(err, status.ErrSuperseded):
		label = "superseded"
	case errors.Is(err, status.ErrReplaced):
		label = "replaced"
	case apierrors.IsConflict(err):
		label = "conflict"
	}
	h.counts[label]++
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
			require.Empty(t, status.Check(before, s, generation))
		}
	}
}
