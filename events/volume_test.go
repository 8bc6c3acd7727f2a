// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/events"
)

func objects(n int) []*corev1.ConfigMap {
	out := make([]*corev1.ConfigMap, n)
	for i := range out {
		out[i] = object(fmt.Sprint("run-", i))
	}
	return out
}

// assertTotal checks that no span of time holds more writes than the limiter of
// all allows.
func assertTotal(t *testing.T, s *server, perSecond float64) {
	t.Helper()
	burst := 5 * perSecond
	requests := s.asked()
	slices.SortFunc(requests, func(a, b request) int { return a.at.Compare(b.at) })
	for i := 0; i < len(requests); i += max(1, len(requests)/200) {
		for j := i; j < len(requests); j += max(1, len(requests)/200) {
			span := requests[j].at.Sub(requests[i].at).Seconds()
			if !assert.LessOrEqual(t, float64(j-i+1), burst+perSecond*span+1) {
				return
			}
		}
	}
}

// For any input at any time the caps hold, and every occurrence is counted.
func TestCaps_HoldWhateverHappens(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			d := newDice(seed)
			perMinute := 1 + d.roll(8)
			total := float64(1 + d.roll(20))
			s := &server{refuse: d.refuse}
			rec, stop := start(t, s, events.Options{
				WritesPerMinute: perMinute, TotalWritesPerSecond: total,
				MaxObjects: 16 - 13*int(seed%2), // every second one evicts
			})
			all := objects(6)
			for i, o := range all {
				o.Namespace = fmt.Sprint("runs-", i%3)
			}
			for i := range 3000 {
				sleeps := d.call(t, rec, all)
				require.Empty(t, events.Unbalanced(rec), "call %d", i)
				if sleeps {
					time.Sleep(time.Duration(d.roll(2000)) * time.Millisecond)
					require.Empty(t, events.Unbalanced(rec), "after call %d", i)
				}
			}
			_ = stop()
			if seed%2 == 0 { // an evicted object loses its cap
				assertCap(t, s, perMinute)
			}
			assertTotal(t, s, total)
			assertAccounts(t, rec)
			assert.LessOrEqual(t, s.most, 3*2, "two in each namespace")
		})
	}
}

// call reports something about one of the objects. Every third time the caller
// sleeps then.
func (d *dice) call(t *testing.T, rec *events.Recorder, all []*corev1.ConfigMap) (sleeps bool) {
	t.Helper()
	o := all[d.roll(len(all))]
	n := d.roll(100)
	switch {
	case n < 40:
		rec.Failure(o, errAway)
	case n < 60:
		rec.Failure(o, invalid(fmt.Sprint("text ", n)))
	case n < 75:
		rec.Failure(o, nil)
	case n < 98:
		rec.Eventf(o, nil, "Normal", fmt.Sprint("Reason", n%6), "", "note %d", n)
	default:
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_ = rec.Flush(ctx)
	}
	return n%3 == 0
}

// refuse answers some requests with an error, all of them after a while.
func (d *dice) refuse(ctx context.Context, w request) error {
	time.Sleep(time.Duration(d.roll(2000)) * time.Millisecond)
	if w.namespace == "runs-1" && time.Now().Minute()%10 < 3 {
		return notGranted() // by either group
	}
	switch d.roll(20) {
	case 0:
		return tooManyRequests(d.roll(3))
	case 1:
		return unavailable()
	case 2:
		return rejected()
	case 3:
		return storedError{unavailable()}
	case 4:
		<-ctx.Done()
		return storedError{ctx.Err()}
	case 5:
		return notGranted()
	}
	return nil
}

// assertAccounts checks, after RunWith has returned, that nothing is pending
// and that no occurrence was counted twice.
func assertAccounts(t *testing.T, rec *events.Recorder) {
	t.Helper()
	st := rec.Stats()
	sum := st.Written
	for _, n := range []int64{st.Written, st.Retried} {
		assert.GreaterOrEqual(t, n, int64(0), "%+v", st)
	}
	for _, n := range st.Lost {
		assert.Positive(t, n)
		sum += n
	}
	assert.GreaterOrEqual(t, st.Recorded, sum, "%+v", st)
	assert.Zero(t, st.Pending)
}
