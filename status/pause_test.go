// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/status"
)

// stormy commits while another writer wins each race. It returns the pauses
// between a conflict and the read after it.
func stormy(ctx context.Context, t *testing.T, retries int) (pauses []time.Duration, err error) {
	t.Helper()
	s, before := start(t)
	var lost time.Time
	beats := 0
	s.before = func(name string, data []byte) {
		if string(data) == "{}" {
			pauses = append(pauses, time.Since(lost))
			return
		}
		beats++
		s.restatus(name, `{"runtimeRef":{"beat":"`+strings.Repeat("x", beats)+`"}}`)
		lost = time.Now()
	}
	_, err = via(client[Run]{s}.Patch, status.Writer{Retries: retries}).Commit(ctx, before, withPhase(before, "Running"), running)
	return pauses, err
}

// TestCommit_PausesAfterASecondLostRace: two controllers that write one object
// would otherwise lose against each other again.
func TestCommit_PausesAfterASecondLostRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pauses, err := stormy(t.Context(), t, 20)
		require.True(t, apierrors.IsConflict(err), err)
		require.Len(t, pauses, 20)
		assert.Zero(t, pauses[0], "one conflict is usual, and costs no time")
		least := 10 * time.Millisecond
		for i, pause := range pauses[1:] {
			assert.GreaterOrEqual(t, pause, least, "pause %d", i)
			assert.LessOrEqual(t, pause, 2*least, "pause %d", i)
			least = min(2*least, 80*time.Millisecond)
		}
		others, err := stormy(t.Context(), t, 20)
		require.Error(t, err)
		assert.NotEqual(t, pauses, others, "two controllers do not pause equally long")
	})
}

func TestCommit_EndsAPauseWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		began := time.Now()
		pauses, err := stormy(ctx, t, 0)
		assert.Equal(t, 5*time.Millisecond, time.Since(began))
		assert.Len(t, pauses, 1, "no request follows")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.True(t, apierrors.IsConflict(err), "what it waited for is named too")
	})
}
