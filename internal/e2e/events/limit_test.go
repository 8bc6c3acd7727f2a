// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/events"
)

// TestRateLimitOfTheServer: the admission plugin EventRateLimit refuses core/v1
// Events without a time to retry. None is lost.
func TestRateLimitOfTheServer(t *testing.T) {
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
}
