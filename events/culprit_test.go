// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

func named(prefix string, n int) []*corev1.ConfigMap {
	out := make([]*corev1.ConfigMap, n)
	for i := range out {
		out[i] = object(fmt.Sprintf("%s-%d", prefix, i))
	}
	return out
}

// TestEvents_ThatTheServerCannotTakeHoldUpNoOther for longer than two pauses
// each, of 30 seconds at most: a webhook that fails for some answers 500, as a
// server does that is away.
func TestEvents_ThatTheServerCannotTakeHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if strings.HasPrefix(w.object, "bad") {
				return apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q", "events.example.com"))
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		for _, o := range named("bad", 6) {
			rec.Failure(o, errAway)
		}
		time.Sleep(time.Second)
		for _, o := range named("good", 30) {
			rec.Failure(o, errAway)
		}
		time.Sleep(5 * time.Minute)
		assert.Len(t, s.all(), 30)
		time.Sleep(time.Hour)
		assert.Empty(t, rec.Stats().Lost, "nothing is given up while there is room")
		_ = stop()
		assertAccounts(t, rec)
	})
}

// TestOutage_LosesNothing: while no write succeeds, none is given up.
func TestOutage_LosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &server{refuse: func(context.Context, request) error {
			if time.Since(began) < 21*time.Minute {
				return unavailable()
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		for _, o := range named("run", 100) {
			rec.Failure(o, errAway)
		}
		time.Sleep(22 * time.Minute)
		assert.Empty(t, rec.Stats().Lost)
		assert.Len(t, s.all(), 100)
		assert.Zero(t, rec.Stats().Pending)
		_ = stop()
		assertAccounts(t, rec)
	})
}

// TestStop_BeginsWithAnAttempt: the pause after the last fault may be longer
// than the time that remains, and the server is up again.
func TestStop_BeginsWithAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &server{refuse: func(context.Context, request) error {
			if time.Since(began) < 62*time.Second {
				return unavailable()
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		for _, o := range named("run", 20) {
			rec.Failure(o, errAway)
		}
		time.Sleep(62*time.Second + time.Millisecond)
		require.Empty(t, s.all())
		_ = stop()
		assert.Len(t, s.all(), 20)
		assertAccounts(t, rec)
	})
}

// TestUnsureWrite_IsCountedUp: updates of the stored Event
// count the later occurrences.
func TestUnsureWrite_IsCountedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &server{refuse: func(context.Context, request) error {
			if time.Since(began) < 20*time.Second {
				return storedError{unavailable()}
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		for range 6 {
			for _, o := range named("run", 20) {
				rec.Failure(o, errAway)
			}
			time.Sleep(2 * time.Second)
		}
		time.Sleep(time.Minute)
		require.NoError(t, rec.Flush(t.Context()))
		reported := map[string]int32{}
		for _, ev := range s.all() {
			reported[ev.Regarding.Name]++
			if ev.Series != nil {
				reported[ev.Regarding.Name] += ev.Series.Count - 1
			}
		}
		for _, o := range named("run", 20) {
			assert.Equal(t, int32(6), reported[o.Name], o.Name)
		}
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}
