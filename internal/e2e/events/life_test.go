// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestGroupNotServed: all is written by core/v1 instead, and kubectl shows it.
// The API server deletes Events after their TTL. While a failure is reported in
// time, its Event stays.
//
//req:shows E3
func TestGroupNotServed(t *testing.T) {
	t.Parallel()
	ttl, err := time.ParseDuration(eventTTL)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		reason string
		code   string
		config func(t *testing.T, s *stage) *rest.Config
	}{
		"AllRights": {
			"The router knows no such group.", "404",
			func(_ *testing.T, s *stage) *rest.Config { return s.cp.Config() },
		},
		"CoreRights": {
			"A caller without the verb is refused before the router is asked.", "403",
			func(t *testing.T, s *stage) *rest.Config {
				t.Helper()
				return s.as(t, "us", rbacv1.PolicyRule{
					APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"},
				})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cp, err := old()
			require.NoError(t, err)
			s := newStage(t, cp)
			r := record(t, tc.config(t, s), bothGroups, events.Options{WritesPerMinute: 60})
			o := s.object(t, "run-1")
			failed(r.Recorder, o)
			r.flushed(t)
			first := s.stored(t)
			require.Len(t, first, 1)
			for began := time.Now(); time.Since(began) < ttl*3/2; {
				suite.Wait(t.Context(), time.Second)
				failed(r.Recorder, o)
				r.flushed(t)
			}
			stored := s.stored(t)
			require.Len(t, stored, 1)
			assert.Equal(t, first[0].UID, stored[0].UID, "each write restarts its TTL")
			assert.Regexp(t, `\(x\d+ over .*connection refused`, s.kubectl(t, "events", "--for=configmap/run-1"))
			asked := 0
			for _, answer := range r.answers() {
				if strings.HasPrefix(answer, "events.k8s.io ") {
					asked++
					assert.Contains(t, answer, tc.code, tc.reason)
				}
			}
			assert.Less(t, asked, 3, "and not for each Event")
		})
	}
}
