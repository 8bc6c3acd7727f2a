// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// The faults of an API server that dies or hangs in the middle of a burst.
// These tests do not run in parallel, because they would disturb the others.
// The controller has only the documented rights: an API server that starts
// knows no roles for a moment.

func TestAPIServerFailsDuringABurst(t *testing.T) {
	const objects, before = 120, 20
	cases := map[string]struct {
		reason string
		fault  func(t *testing.T) // breaks the API server, and repairs it
	}{
		"Killed": {"Connections break, then the port is closed, then the server is back with its stored objects.", func(t *testing.T) {
			t.Helper()
			require.NoError(t, plane.APIServer.Kill())
			suite.Wait(t.Context(), 2*time.Second)
			require.NoError(t, plane.APIServer.Start(t.Context()))
		}},
		"Stopped": {"It ends in order: it refuses what is new for a while.", func(t *testing.T) {
			t.Helper()
			require.NoError(t, plane.APIServer.Stop())
			require.NoError(t, plane.APIServer.Start(t.Context()))
		}},
		"Frozen": {"Requests are taken and never answered: longer than the ten seconds of a second attempt.", func(t *testing.T) {
			t.Helper()
			require.NoError(t, plane.APIServer.Freeze())
			suite.Wait(t.Context(), 13*time.Second)
			require.NoError(t, plane.APIServer.Thaw())
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, plane)
			s.bind(t, "us", "documented", documented(t)...)
			r := record(t, s.user(t, "us"), bothGroups, events.Options{TotalWritesPerSecond: 1000})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()

			// The burst goes on while the server is away, and for a while
			// thereafter.
			recorded := make([]int, objects)
			var recording sync.WaitGroup
			recording.Go(func() {
				for i := 0; ctx.Err() == nil || i%objects != 0; i++ {
					failed(r.Recorder, s.reference(fmt.Sprintf("run-%03d", i%objects)))
					recorded[i%objects]++
					suite.Wait(ctx, 10*time.Millisecond)
				}
			})
			suite.Eventually(t, "the burst has begun", func(context.Context) bool { return r.Stats().Written >= before })
			tc.fault(t)
			require.NoError(t, plane.Ready(t.Context()))
			written := r.Stats().Written
			suite.Eventually(t, "it is written again", func(context.Context) bool { return r.Stats().Written > written })
			cancel()
			recording.Wait()
			r.flushed(t)

			total, stored := 0, map[string]int{}
			for _, ev := range s.stored(t) {
				assert.Zero(t, stored[ev.InvolvedObject.Name], "%s has one Event", ev.InvolvedObject.Name)
				stored[ev.InvolvedObject.Name] = reported(ev)
			}
			for i, n := range recorded {
				total += n
				assert.Equal(t, n, stored[fmt.Sprintf("run-%03d", i)], "run-%03d: each occurrence is reported", i)
			}
			st := r.Stats()
			t.Logf("%d occurrences, %d requests: %+v", total, len(r.wire.Sent()), st)
			assert.NotZero(t, st.Retried, tc.reason)
			assert.Zero(t, st.Suppressed)
			r.assertAccounts(t, total)
			require.NoError(t, r.stop(), "nothing is lost")
		})
	}
}
