// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
)

// TestRateLimitOfTheServer: the admission plugin EventRateLimit refuses core/v1
// Events without a time to retry, and ignores Events of events.k8s.io. There
// the Recorder has to limit itself.
func TestRateLimitOfTheServer(t *testing.T) {
	t.Parallel()
	const many = 20

	t.Run("CoreIsThrottled", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, plane)
		began, accepted, refused := time.Now(), 0, 0
		for i := range many {
			_, err := s.kube.CoreV1().Events(s.namespace).Create(t.Context(), &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a.", i)}, InvolvedObject: *s.reference("a"), Type: "Normal",
			}, metav1.CreateOptions{})
			switch {
			case err == nil:
				accepted++
			case apierrors.IsTooManyRequests(err):
				refused++
				_, says := apierrors.SuggestsClientDelay(err)
				assert.False(t, says, "%v", err)
			default:
				require.NoError(t, err)
			}
		}
		assert.LessOrEqual(t, accepted, limitBurst+int(time.Since(began).Seconds())+1)
		assert.Equal(t, many, accepted+refused)
	})
	t.Run("TheNewGroupIsNot", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, plane)
		for i := range many {
			ev := s.valid()
			ev.Name = fmt.Sprint("a.", i)
			_, err := s.kube.EventsV1().Events(s.namespace).Create(t.Context(), ev, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		r := record(t, plane.Config(), bothGroups, events.Options{WritesPerMinute: 3})
		for range many {
			for i := range 3 {
				r.Eventf(s.reference("b"), nil, "Normal", fmt.Sprint("Reason", i), "", "note")
			}
		}
		assert.NotZero(t, r.Stats().Pending+r.Stats().Written)
		eventually(t, "the burst is over", func(context.Context) bool { return len(r.wire.sent()) >= 2 })
		assert.Len(t, r.wire.sent(), 2, "a burst of (3+2)/2")
	})
	t.Run("NothingIsLost", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, plane)
		objects := make([]*corev1.ConfigMap, 3*limitBurst)
		for i := range objects {
			objects[i] = s.object(t, fmt.Sprintf("run-%02d", i))
		}
		r := record(t, plane.Config(), coreOnly, events.Options{})
		for _, o := range objects {
			again(r.Recorder, o)
		}
		r.flushed(t)
		stored := s.stored(t)
		require.Len(t, stored, len(objects))
		for _, ev := range stored {
			assert.Equal(t, 2, reported(ev), ev.Name)
		}
		st := r.Stats()
		assert.NotZero(t, st.Retried, "the server did refuse")
		assert.Less(t, len(r.wire.sent()), 10*len(objects), "and was left alone between attempts")
		r.assertAccounts(t, 2*len(objects))
		require.NoError(t, r.stop())
	})
}
