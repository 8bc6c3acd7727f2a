// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/e2e/status/kinds"
	"github.com/proompteng/controllerkit/status"
)

// The times: the API server's rules stand behind each of these writes, and
// refuse one that breaks the contract.

// advance commits one phase and returns what is stored, checked against what
// was.
func advance(t *testing.T, s *stage, w writer, phase string, f status.Facts) *kinds.Probe {
	t.Helper()
	before := s.read(t, "a")
	after := before.DeepCopy()
	after.Status.Phase = phase
	_, err := via(s.ours.probes.Patch, w).Commit(t.Context(), before, after, f)
	require.NoError(t, err)
	stored := s.read(t, "a")
	sameStatus(t, stored, after)
	require.Empty(t, status.Check(before.Status.Stamp, stored.Status.Stamp, stored.Generation))
	return stored
}

func TestDoneBeforeRunning(t *testing.T) {
	s := newStage(t)
	s.create(t, "a")
	stored := advance(t, s, writer{}, "Failed", done)
	assert.Nil(t, stored.Status.StartedAt, "a run of no length is not invented")
	require.NotNil(t, stored.Status.FinishedAt)

	late := stored.Status.FinishedAt.Add(time.Minute)
	stored = advance(t, s, writer{}, "Running", status.Facts{Progress: status.Running, StartedAt: late})
	assert.Nil(t, stored.Status.StartedAt, "a start after the end is none")

	early := stored.Status.FinishedAt.Add(-time.Minute)
	stored = advance(t, s, writer{}, "Failed", status.Facts{Progress: status.Done, StartedAt: early})
	require.NotNil(t, stored.Status.StartedAt, "but what a Job tells is taken")
	assert.True(t, stored.Status.StartedAt.Time.Equal(early))
}

//req:shows S3
func TestRunningAgainAfterDone(t *testing.T) {
	s := newStage(t)
	s.create(t, "a")
	var first *kinds.Probe
	for i, f := range []status.Facts{running, done, waiting, running, done} {
		f.StartedAt = time.Now().Add(time.Duration(i) * time.Hour) // each run has times of its own
		f.FinishedAt = f.StartedAt.Add(time.Minute)
		stored := advance(t, s, writer{}, fmt.Sprint("Phase", i), f)
		if i == 1 {
			first = stored
		}
		if i > 1 {
			assert.Equal(t, first.Status.StartedAt, stored.Status.StartedAt)
			assert.Equal(t, first.Status.FinishedAt, stored.Status.FinishedAt)
		}
	}
}

func TestClockGoingBack(t *testing.T) {
	s := newStage(t)
	s.reconciled(t, "a")
	// Another replica, whose clock is ahead, saw it start.
	ahead := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	s.restatus(t, "a", fmt.Sprintf(`{"startedAt":%q,"updatedAt":%[1]q}`, ahead.Format(time.RFC3339)))

	// Its updatedAt does not silence the heartbeat.
	before := s.read(t, "a")
	result, err := via(s.ours.probes.Patch, writer{Heartbeat: time.Minute}).Commit(t.Context(), before, before.DeepCopy(), running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	stored := s.read(t, "a")
	assert.True(t, stored.Status.UpdatedAt.Time.Before(ahead), "updatedAt is the writer's own clock")

	stored = advance(t, s, writer{}, "Succeeded", done)
	assert.True(t, stored.Status.StartedAt.Time.Equal(ahead), "startedAt stays")
	assert.True(t, stored.Status.FinishedAt.Time.Equal(ahead), "and the end is not before the start")
}

// TestHeartbeat: of an object that is not done updatedAt alone is refreshed,
// and only if it is old.
//
//req:shows S2
func TestHeartbeat(t *testing.T) {
	w := writer{Heartbeat: time.Hour}
	cases := map[string]struct {
		reason string
		age    time.Duration
		facts  status.Facts
		want   status.Result
	}{
		"Fresh":    {"A young updatedAt needs no write.", time.Minute, running, status.Unchanged},
		"Old":      {"An old one says that nobody is there, so somebody says otherwise.", 2 * time.Hour, running, status.Written},
		"Finished": {"An object that is done is left alone, however old.", 2 * time.Hour, done, status.Unchanged},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.reconciled(t, "a")
			advance(t, s, writer{}, "Phase", tc.facts)
			before := s.restatus(t, "a", fmt.Sprintf(`{"updatedAt":%q}`, time.Now().Add(-tc.age).UTC().Format(time.RFC3339)))
			s.wire.sent()

			after := before.DeepCopy()
			result, err := via(s.ours.probes.Patch, w).Commit(t.Context(), before, after, tc.facts)
			require.NoError(t, err)
			assert.Equal(t, tc.want, result, tc.reason)
			stored := s.read(t, "a")
			assert.Equal(t, tc.want == status.Written, stored.ResourceVersion != before.ResourceVersion)
			stored.Status.UpdatedAt, before.Status.UpdatedAt = nil, nil
			assert.Equal(t, before.Status, stored.Status, "nothing but updatedAt")
		})
	}
}

// TestTimesKnownFromElsewhere: a Job's times are taken over once, cut to whole
// seconds as the API server does.
func TestTimesKnownFromElsewhere(t *testing.T) {
	s := newStage(t)
	s.create(t, "a")
	started := time.Date(2025, 6, 1, 12, 0, 0, 999_000_000, time.FixedZone("east", 7200))
	facts := status.Facts{Progress: status.Done, StartedAt: started, FinishedAt: started.Add(time.Minute)}
	stored := advance(t, s, writer{}, "Succeeded", facts)
	assert.Equal(t, "2025-06-01T10:00:00Z", stored.Status.StartedAt.UTC().Format(time.RFC3339Nano))
	assert.Equal(t, "2025-06-01T10:01:00Z", stored.Status.FinishedAt.UTC().Format(time.RFC3339Nano))

	s.wire.sent()
	again := stored.DeepCopy()
	again.Status.StartedAt = new(metav1.Now()) // does not count
	result, err := via(s.ours.probes.Patch, writer{}).Commit(t.Context(), stored, again, facts)
	require.NoError(t, err)
	assert.Equal(t, status.Unchanged, result)
	assert.Empty(t, s.wire.sent())
}
