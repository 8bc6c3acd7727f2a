// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// After any moves of entries the first of a queue is of the lowest class and
// the earliest in it.
func TestTheEarliestOfTheLowestClassIsInFront(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var q, other queue
	var model []*entry
	for range 2000 {
		if len(model) == 0 || random.IntN(3) > 0 {
			e := new(entry)
			e.enqueue(&other, waiting, 0)
			e.enqueue(&q, class(random.IntN(3)), instant(random.IntN(50)))
			model = append(model, e)
		} else {
			i := random.IntN(len(model))
			model[i].enqueue(nil, waiting, 0)
			assert.Nil(t, model[i].queue)
			model[i].enqueue(nil, waiting, 0) // it is out already
			model = slices.Delete(model, i, i+1)
		}
		require.Empty(t, other)
		require.Len(t, q, len(model))
		if len(model) > 0 {
			first := slices.MinFunc(model, func(a, b *entry) int {
				return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.at, b.at))
			})
			require.Equal(t, [2]any{first.class, first.at}, [2]any{q[0].class, q[0].at})
		}
		for i, e := range q {
			require.Equal(t, i, int(e.index))
			require.Same(t, &q, e.queue)
		}
	}
}

// TestAWorkerThatWakesWhenAllIsClosedSleepsAgain: no worker may serve a timer
// that is due then. A loop that waits for it would hold the lock forever.
func TestAWorkerThatWakesWhenAllIsClosedSleepsAgain(t *testing.T) {
	r, err := New(&Sink{events: func(string) client[eventsv1.Event] { return nil }}, "example.com/test", Options{})
	require.NoError(t, err)
	run := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{UID: types.UID("a")}}
	for i := range 10 {
		r.Eventf(run, nil, "Normal", "Reason"+strconv.Itoa(i), "", "")
		r.entries["a"].limiter.take(r.now())
	}
	require.NotEmpty(t, r.plan.later, "it waits for a token")
	r.closed = true
	slept := make(chan instant)
	go func() {
		_, at := r.next(r.plan.later[0].at.add(time.Hour))
		slept <- at
	}()
	select {
	case at := <-slept:
		assert.Equal(t, never, at)
	case <-time.After(20 * time.Second):
		t.Fatal("it spins")
	}
}
