// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics/kube"
)

// After any operations, the queue hands out the same items as client-go's
// queue, in the same order, and counts them right.
func TestQueueBehavesAsClientGos(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) { compare(t, rand.New(rand.NewPCG(seed, 0)), 500) })
	}
}

func FuzzQueue(f *testing.F) {
	for seed := range uint64(5) {
		f.Add(seed, uint16(200))
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16) {
		synctest.Test(t, func(t *testing.T) { compare(t, rand.New(rand.NewPCG(seed, 1)), int(steps%900)) })
	})
}

// compare applies the same operations to both queues, in steps of a microsecond
// with delays of whole milliseconds. So no two items become ready in the same
// instant, where neither queue promises an order.
func compare(t *testing.T, random *rand.Rand, steps int) {
	t.Helper()
	ours := kube.NewQueue(nil, backOff(1037*time.Millisecond))
	theirs := workqueue.NewTypedRateLimitingQueue(backOff(1037 * time.Millisecond))
	defer theirs.ShutDown()
	queues := []workqueue.TypedRateLimitingInterface[string]{ours, theirs}
	both := func(do func(workqueue.TypedRateLimitingInterface[string])) {
		for _, q := range queues {
			do(q)
		}
		synctest.Wait()
	}
	var held []string
	adds := int64(0)
	for step := range steps {
		item := string(rune('a' + random.IntN(6)))
		<-time.After(time.Microsecond)
		switch random.IntN(8) {
		case 0, 1:
			both(func(q workqueue.TypedRateLimitingInterface[string]) { q.Add(item) })
		case 2:
			d := time.Duration(random.IntN(5000)) * time.Millisecond
			both(func(q workqueue.TypedRateLimitingInterface[string]) { q.AddAfter(item, d) })
		case 3:
			both(func(q workqueue.TypedRateLimitingInterface[string]) { q.AddRateLimited(item) })
		case 4:
			both(func(q workqueue.TypedRateLimitingInterface[string]) { q.Forget(item) })
		case 5:
			if ours.Len() == 0 {
				continue
			}
			var got [2]string
			for i, q := range queues {
				got[i], _ = q.Get()
			}
			require.Equal(t, got[1], got[0], "step %d", step)
			held = append(held, got[0])
			adds++
		case 6:
			if len(held) == 0 {
				continue
			}
			i := random.IntN(len(held))
			both(func(q workqueue.TypedRateLimitingInterface[string]) { q.Done(held[i]) })
			held = append(held[:i], held[i+1:]...)
		case 7:
			<-time.After(time.Duration(random.IntN(2000)) * time.Millisecond)
			synctest.Wait()
		}
		s := ours.State()
		require.Equal(t, theirs.Len(), ours.Len(), "step %d", step)
		require.Equal(t, int64(theirs.Len()), s.Depth, "step %d", step)
		require.Equal(t, int64(len(held)), s.Running, "step %d", step)
		require.Equal(t, adds+s.Depth, s.Adds, "step %d: what became ready was taken or is ready", step)
		require.LessOrEqual(t, s.Delayed, int64(6), "step %d: an item waits once", step)
	}
	<-time.After(2 * time.Hour)
	synctest.Wait()
	assert.Zero(t, ours.State().Delayed, "every delayed item becomes ready")
	assert.Equal(t, theirs.Len(), ours.Len())
	ours.ShutDown()
}
