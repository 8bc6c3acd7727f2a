// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/events"
)

func named(prefix string, n int) []*corev1.ConfigMap {
	out := make([]*corev1.ConfigMap, n)
	for i := range out {
		out[i] = object(fmt.Sprintf("%s-%d", prefix, i))
	}
	return out
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
