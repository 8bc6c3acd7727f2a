// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/jobgc/expire"
)

// answeredAt is a ServerTime that has just read an answer with a Date.
func answeredAt(date time.Time) *expire.ServerTime {
	server := new(expire.ServerTime)
	_, _ = server.Wrap(answering(date.UTC().Format(http.TimeFormat))).RoundTrip(new(http.Request))
	return server
}

// answering answers each request with a Date.
type answering string

func (date answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {string(date)}}}, nil
}

// TestSweep_ByAClockThatIsAhead: this machine says that 40 days have passed.
// The API server's time decides which run is overdue.
func TestSweep_ByAClockThatIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start.Add(40 * 24 * time.Hour)))
		c := newCluster(ran("young", 10*time.Minute), ran("old", 2*time.Hour))
		s := newSweeper(t, c, expire.Options{})
		for _, item := range c.store {
			s.OnAdd(item, true)
		}
		deleted, err := s.Sweep(t.Context(), time.Now())
		require.NoError(t, err)
		assert.Equal(t, 1, deleted)
		assert.Equal(t, []string{"old"}, c.asked)
		c.store = c.store[:1]
		time.Sleep(50 * time.Minute)
		deleted, err = s.Sweep(t.Context(), time.Now())
		require.NoError(t, err)
		assert.Equal(t, 1, deleted, "the time since the answer counts")
	})
}

func TestSweep_ByAClockThatIsLate(t *testing.T) {
	c := newCluster(ran("old", 2*time.Hour))
	deleted, err := newSweeper(t, c, expire.Options{}).Sweep(t.Context(), start.Add(-90*time.Minute))
	require.NoError(t, err)
	assert.Zero(t, deleted, "it is not overdue by this machine's time")
}

func TestSweep_BeforeTheFirstAnswerDeletesNothing(t *testing.T) {
	for name, answer := range map[string]answering{
		"None":      "",
		"NotADate":  "yesterday",
		"OtherForm": "2026-03-01T12:00:00Z",
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(ran("old", 2*time.Hour))
			server := new(expire.ServerTime)
			if answer != "" {
				_, err := server.Wrap(answer).RoundTrip(new(http.Request))
				require.NoError(t, err)
			}
			s, err := expire.New(c.runs, c.list, finished, server, expire.Options{TTL: time.Hour})
			require.NoError(t, err)
			deleted, err := s.Sweep(t.Context(), start)
			require.ErrorContains(t, err, "jobgc/expire: no answer of the API server with a Date was seen")
			assert.Zero(t, deleted)
			assert.Empty(t, c.asked)
		})
	}
}

// failing is a network that is down.
type failing struct{ error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f }

func TestServerTime_PassesFailuresOn(t *testing.T) {
	down := failing{errors.New("no route to host")}
	wrapped, ok := new(expire.ServerTime).Wrap(down).(interface{ WrappedRoundTripper() http.RoundTripper })
	require.True(t, ok, "client-go looks for what cancels a request below")
	assert.Equal(t, down, wrapped.WrappedRoundTripper())
	_, err := new(expire.ServerTime).Wrap(down).RoundTrip(new(http.Request))
	require.ErrorIs(t, err, down)
}

// The API server's last answer was at noon.
func ExampleServerTime() {
	server := new(expire.ServerTime)
	transport := server.Wrap(answering("Sun, 01 Mar 2026 12:00:00 GMT")) // config.Wrap(server.Wrap)
	_, err := transport.RoundTrip(new(http.Request))
	cluster := newCluster(ran("two-hours-ago", 2*time.Hour), ran("just-now", time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	sweeper, err := expire.New(cluster.runs, cluster.list, finished, server, expire.Options{TTL: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	deleted, err := sweeper.Sweep(context.Background(), start.AddDate(1, 0, 0)) // this machine is a year ahead
	fmt.Println(deleted, err, cluster.asked)
	// Output: 1 <nil> [two-hours-ago]
}
