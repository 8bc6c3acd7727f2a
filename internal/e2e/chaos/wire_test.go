// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestTheWatchesAreCut cuts watches in the middle of an event, and every fourth
// time the connection too.
func TestTheWatchesAreCut(t *testing.T) {
	t.Parallel()
	ctx, w, between := behindProxy(t)
	last := either(122, 17)
	w.during(ctx, t, last, either(200*time.Millisecond, 100*time.Millisecond), func() {
		for i := range either(50, 8) {
			suite.Wait(ctx, either(500*time.Millisecond, 250*time.Millisecond))
			if i%4 == 3 {
				between.server.CloseClientConnections()
			} else {
				between.cut()
			}
		}
	})
	w.holds(ctx, t, last+1)
	t.Log(between.did())
	assert.Greater(t, between.did()["watches cut"], either(10, 1))
}

// TestATenthOfTheRequestsFails: requests fail with 409, 429, 500 or 503, or
// succeed and lose their answer. The errors quote the secret.
//
//req:shows E5
func TestATenthOfTheRequestsFails(t *testing.T) {
	t.Parallel()
	ctx, w, between := behindProxy(t)
	between.fail(10, "env AGENT_SECRET="+firstSecret)
	last := either(202, 26)
	w.during(ctx, t, last, 50*time.Millisecond, func() {})
	w.holds(ctx, t, last+1)
	t.Log(between.did())
	assert.Greater(t, between.did()["requests"], 4*last)
	w.assertSays(t, "injected", "Reconcile failed") // the errors are in the log, without the secret
}

// TestAnErrorThatNeverReadsTheSame: the error of a hindered run has another
// text at each attempt, like a quota with a time to retry. Each attempt writes
// the run once, the pauses grow, and a write causes no attempt. The transition
// time of the condition stays.
//
//req:shows E2
func TestAnErrorThatNeverReadsTheSame(t *testing.T) {
	t.Parallel()
	ctx, w, between := behindProxy(t)
	var attempts atomic.Int64
	between.deny("create jobs", func() string { return fmt.Sprintf("the quota is used up, come back in %ds", 3600-attempts.Add(1)) })
	run, err := suite.Create(ctx, w.Stage, newRun(3))
	require.NoError(t, err)
	hindered := func(ctx context.Context) *metav1.Condition {
		now, err := w.Runs.Get(ctx, run.Name, metav1.GetOptions{})
		require.NoError(t, err)
		return apimeta.FindStatusCondition(now.Status.Conditions, "Degraded")
	}
	var first, last *metav1.Condition
	suite.Eventually(t, "it is hindered", func(ctx context.Context) bool {
		first = hindered(ctx)
		return first != nil && first.Status == metav1.ConditionTrue
	})
	suite.Wait(ctx, 10*time.Second)
	suite.Eventually(t, "it was tried again", func(ctx context.Context) bool {
		last = hindered(ctx)
		return last.Message != first.Message
	})
	written := 0
	for _, r := range w.requests(t) {
		if r.Kind() == "patch agentruns/status" && r.For.Name == run.Name {
			written++
		}
	}
	n := int(attempts.Load()) // after the writes were counted, because an attempt comes before its write
	t.Logf("%d attempts, %d writes of the status", n, written)
	assert.LessOrEqual(t, n, 10, "the pause doubles from 200 ms on: 7 in 12 seconds")
	assert.LessOrEqual(t, written, n+1, "one for each attempt, and one for the name of the Job")
	assert.Contains(t, last.Message, "come back in")
	assert.Equal(t, first.LastTransitionTime, last.LastTransitionTime)
}
