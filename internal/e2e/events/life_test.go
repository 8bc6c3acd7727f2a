// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// oldStage is one on the control plane that does not serve events.k8s.io.
func oldStage(t *testing.T) *stage {
	t.Helper()
	cp, err := old()
	require.NoError(t, err)
	return newStage(t, cp)
}

// TestGroupNotServed: all is written by core/v1 instead, in every namespace
// after the first refusal, and kubectl shows it.
//
//req:shows E3
func TestGroupNotServed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		code   int
		admin  bool
	}{
		"AllRights":  {"The router knows no such group.", 404, true},
		"CoreRights": {"A caller without the verb is refused before the router is asked.", 403, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, second := oldStage(t), oldStage(t)
			config := s.cp.Config()
			if !tc.admin {
				config = s.user(t, "us")
				s.grant(t, "us", "", "create", "patch")
			}
			r := record(t, config, bothGroups, events.Options{WritesPerMinute: 60})
			o := s.object(t, "run-1")
			for range 3 {
				failed(r.Recorder, o)
				r.flushed(t)
			}
			asked := r.wire.codes("events.k8s.io")
			assert.Less(t, len(asked), 3, "and not for each Event")
			assert.Subset(t, []int{tc.code}, asked, tc.reason)
			assert.Equal(t, []int{201, 200, 200}, r.wire.codes(""))
			require.Len(t, s.stored(t), 1)
			assert.Equal(t, 3, reported(s.stored(t)[0]))
			suite.Eventually(t, "kubectl shows it, before it expires", func(context.Context) bool {
				failed(r.Recorder, o)
				r.flushed(t)
				return regexp.MustCompile(`\(x\d+ over .*` + errAway.Error()).MatchString(s.kubectl(t, "events", "--for=configmap/run-1"))
			})
			if tc.admin {
				failed(r.Recorder, second.reference("run-2"))
				r.flushed(t)
				assert.Equal(t, []int{404}, r.wire.codes("events.k8s.io"), "a group is absent for all namespaces, for ten minutes")
			}
			require.NoError(t, r.stop())
			assert.NotEmpty(t, r.log.about("core/v1"))
		})
	}
}

// TestAFailureThatGoesOnKeepsItsEvent: the API server deletes Events after
// their TTL. While a failure is reported in time, its Event stays.
func TestAFailureThatGoesOnKeepsItsEvent(t *testing.T) {
	t.Parallel()
	ttl, err := time.ParseDuration(eventTTL)
	require.NoError(t, err)
	s := oldStage(t)
	r := record(t, s.cp.Config(), bothGroups, events.Options{WritesPerMinute: 60})
	failed(r.Recorder, s.reference("a"))
	r.flushed(t)
	first := s.stored(t)
	require.Len(t, first, 1)
	began := time.Now()
	for time.Since(began) < ttl*3/2 {
		suite.Wait(t.Context(), time.Second)
		failed(r.Recorder, s.reference("a"))
		r.flushed(t)
	}
	stored := s.stored(t)
	require.Len(t, stored, 1)
	assert.Equal(t, first[0].UID, stored[0].UID, "each write restarts its TTL")
}
