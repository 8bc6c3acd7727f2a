// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// TestFor_SharesEverythingButTheName: the cap of an object holds for both, and
// each controller has its own failures.
func TestFor_SharesEverythingButTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{})
		other, err := rec.For("agents.example.com/other")
		require.NoError(t, err)
		for range 10 {
			rec.Failure(object("a"), errAway)
			other.Failure(object("a"), errAway)
		}
		other.Failure(object("a"), nil)
		time.Sleep(time.Minute)
		by := map[string][]string{}
		for _, ev := range s.all() {
			by[ev.ReportingController] = append(by[ev.ReportingController], ev.Reason)
		}
		assert.Equal(t, map[string][]string{
			controller:                 {events.InternalError},
			"agents.example.com/other": {events.InternalError, events.Recovered},
		}, by)
		assertCap(t, s, 5)
		require.NoError(t, stop())
		assert.Equal(t, rec.Stats(), other.Stats())
		assertAccounts(t, rec)
	})
}

func TestFor_RefusesABadName(t *testing.T) {
	rec, err := events.New((&server{}).sink(), controller, events.Options{})
	require.NoError(t, err)
	_, err = rec.For("a b")
	require.ErrorContains(t, err, "agents.example.com/agentrun")
	var none *events.Recorder
	other, err := none.For(controller)
	require.NoError(t, err)
	other.Failure(object("a"), errAway)
}
