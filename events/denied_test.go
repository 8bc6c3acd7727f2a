// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

// until refuses with err for a while.
func until(end time.Duration, err func() error) func(context.Context, request) error {
	began := time.Now()
	return func(context.Context, request) error {
		if time.Since(began) < end {
			return err()
		}
		return nil
	}
}

// An API server that starts answers 403 until it has read the roles. The Events
// that it refuses until then are written later, once each.
func TestDenial_ForAMomentLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: until(10*time.Second, notGranted)}
		rec, stop := start(t, s, events.Options{})
		for _, o := range objects(50) {
			rec.Failure(o, errAway)
			rec.Failure(o, errAway)
		}
		require.NoError(t, rec.Flush(t.Context()))
		assert.Len(t, s.all(), 50)
		assert.LessOrEqual(t, time.Since(s.all()[0].EventTime.Time), 25*time.Second)
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

// The same in the middle of a series: the count is kept.
func TestCount_ThatIsDeniedForAMomentIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := until(10*time.Second, notGranted)
		s := &server{refuse: func(ctx context.Context, w request) error {
			if w.verb == "create" {
				return nil
			}
			return denied(ctx, w)
		}}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		require.NoError(t, rec.Flush(t.Context()))
		rec.Failure(object("a"), errAway)
		require.NoError(t, rec.Flush(t.Context()))
		assert.Greater(t, len(s.asked()), 2, "it was denied")
		require.Len(t, s.all(), 1)
		assert.Equal(t, int32(2), s.all()[0].Series.Count)
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

// Objects where it is granted do not wait for those where it is not, and these
// are not asked for again and again.
func TestOneNamespace_ThatIsDeniedHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.object == "denied" {
				return notGranted()
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("denied"), errAway)
		synctest.Wait()
		rec.Failure(object("granted"), errAway)
		time.Sleep(time.Second)
		require.Len(t, s.all(), 1)
		for range 600 {
			rec.Failure(object("denied"), errAway)
			time.Sleep(time.Second)
		}
		assert.LessOrEqual(t, len(s.asked()), 2*7+1, "seven attempts in ten minutes, each by both groups")
		require.NoError(t, stop())
		assert.Equal(t, map[string]int64{events.LostForbidden: 601}, rec.Stats().Lost)
		assertAccounts(t, rec)
	})
}

// An attempt whose answer was lost may have been stored. Denied since, it is
// made again under the same name, not as a second Event.
func TestDeniedAttempt_KeepsItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempt := 0
		s := &server{refuse: func(context.Context, request) error {
			switch attempt++; {
			case attempt == 1:
				return storedError{unavailable()}
			case attempt < 4:
				return notGranted()
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		require.NoError(t, rec.Flush(t.Context()))
		assert.Len(t, s.all(), 1)
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

// What is denied for good is counted before the grace is over, and named.
func TestStop_WhileDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return notGranted() }}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		began := time.Now()
		require.NoError(t, stop())
		assert.Equal(t, map[string]int64{events.LostForbidden: 1}, rec.Stats().Lost)
		assert.Less(t, time.Since(began), 21*time.Second)
		assertAccounts(t, rec)
	})
}

// TestGroups_AbsentForAMomentLoseNothing: a proxy answers so while its API
// server starts. If events.k8s.io is absent, the permission for the core group
// may be granted a moment later.
func TestGroups_AbsentForAMomentLoseNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		core   func() error
	}{
		"Neither":          {"Neither is known to the router.", groupAbsent},
		"CoreNotYetRights": {"The role is on its way.", notGranted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &server{refuse: func(_ context.Context, w request) error {
					switch {
					case time.Since(began) > 10*time.Second && w.group == "":
						return nil
					case w.group == "":
						return tc.core()
					}
					return groupAbsent()
				}}
				rec, stop := start(t, s, events.Options{})
				rec.Failure(object("a"), errAway)
				time.Sleep(30 * time.Second)
				assert.Len(t, s.all(), 1, tc.reason)
				require.NoError(t, stop())
			})
		})
	}
}

// TestRefusal_OfTwoThePermissionIsNamed: the error names the missing permission
// of either group.
func TestRefusal_OfTwoThePermissionIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.group == "" {
				return apierrors.NewForbidden(corev1.Resource("events"), "", errors.New("no role grants it"))
			}
			return groupAbsent()
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Minute)
		_ = stop()
		assert.Equal(t, map[string]int64{events.LostForbidden: 1}, rec.Stats().Lost)
		assert.Contains(t, log.String(), "no role grants it")
	})
}

// TestStop_CountsWhatWaitsForADeniedNamespace as forbidden too, though no
// request was made about most objects.
func TestStop_CountsWhatWaitsForADeniedNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return notGranted() }}
		rec, stop := start(t, s, events.Options{})
		for _, o := range objects(100) {
			rec.Failure(o, errAway)
		}
		time.Sleep(time.Minute)
		require.NoError(t, stop())
		assert.Equal(t, map[string]int64{events.LostForbidden: 100}, rec.Stats().Lost)
		assertAccounts(t, rec)
	})
}
