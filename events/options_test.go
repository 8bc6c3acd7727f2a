// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events"
)

func TestNew_Refuses(t *testing.T) {
	good := (&server{}).sink()
	cases := map[string]struct {
		reason     string
		sink       *events.Sink
		controller string
		options    events.Options
		names      string
	}{
		"NoSink":               {"Nothing falls back to a global.", nil, controller, events.Options{}, "NewSink"},
		"EmptySink":            {"Nor does a sink without a client.", events.NewSink[eventsFake, coreFake](nil, nil), controller, events.Options{}, "NewSink"},
		"ZeroSink":             {"A zero sink has no client.", &events.Sink{}, controller, events.Options{}, "NewSink"},
		"NoController":         {"The API server requires a name.", good, "", events.Options{}, "agents.example.com/agentrun"},
		"BadController":        {"The name of a controller is a qualified name.", good, "a b", events.Options{}, "a b"},
		"LongController":       {"With at most 63 bytes after the slash.", good, "x/" + strings.Repeat("a", 64), events.Options{}, "63"},
		"TwoSlashes":           {"And one slash at most.", good, "a/b/c", events.Options{}, "a/b/c"},
		"WritesPerMinute":      {"Nothing is guessed of a negative number.", good, controller, events.Options{WritesPerMinute: -1}, "WritesPerMinute"},
		"PerMinuteHuge":        {"A hundred a second is not a cap.", good, controller, events.Options{WritesPerMinute: 6001}, "6000"},
		"TotalWritesPerSecond": {"A negative rate is refused.", good, controller, events.Options{TotalWritesPerSecond: -0.5}, "TotalWritesPerSecond"},
		"NaN":                  {"Nor of no number at all.", good, controller, events.Options{TotalWritesPerSecond: math.NaN()}, "TotalWritesPerSecond"},
		"MaxObjects":           {"A negative bound is refused.", good, controller, events.Options{MaxObjects: -1}, "MaxObjects"},
		"DrainTimeout":         {"A negative time is refused.", good, controller, events.Options{DrainTimeout: -1}, "DrainTimeout"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec, err := events.New(tc.sink, tc.controller, tc.options)
			require.ErrorContains(t, err, tc.names, tc.reason)
			assert.Nil(t, rec)
		})
	}
}

func TestNew_NamesAllThatIsWrong(t *testing.T) {
	_, err := events.New(nil, "agent run", events.Options{WritesPerMinute: 7000, DrainTimeout: -1})
	for _, part := range []string{"NewSink", `"agent run"`, "agents.example.com/agentrun", "WritesPerMinute is 7000", "DrainTimeout is -1ns"} {
		require.ErrorContains(t, err, part)
	}
	assert.NotContains(t, err.Error(), "regex")
}

func TestNew_AcceptsTheLimits(t *testing.T) {
	for _, name := range []string{"agentrun", "agents.example.com/" + strings.Repeat("a", 63), "Agent_Run.v1"} {
		for _, o := range []events.Options{
			{},
			{WritesPerMinute: 1},
			{WritesPerMinute: 6000},
			{TotalWritesPerSecond: 1e-9},
			{TotalWritesPerSecond: 1e12},
			{TotalWritesPerSecond: math.Inf(1)},
			{DrainTimeout: 1},
			{MaxObjects: 1},
			{Scheme: (*runtime.Scheme)(nil)},
		} {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, err := events.New(s.sink(), name, o)
				require.NoError(t, err)
				stop := run(t, rec)
				rec.Failure(bare("no kind"), errAway)
				for range 100 {
					rec.Failure(object("a"), errAway)
					time.Sleep(time.Millisecond)
				}
				_ = stop()
				assert.NotEmpty(t, s.all())
				assertAccounts(t, rec)
			})
		}
	}
}

func TestInstance_IsNeverRefused(t *testing.T) {
	for in, want := range map[string]string{
		"pod-0":                        "pod-0",
		strings.Repeat("é", 200):       strings.Repeat("é", 64),
		strings.Repeat("a", 127) + "é": strings.Repeat("a", 127),
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			rec, _ := start(t, s, events.Options{Instance: in})
			rec.Failure(object("a"), errAway)
			synctest.Wait()
			assert.Equal(t, want, s.all()[0].ReportingInstance)
			assert.True(t, utf8.ValidString(s.all()[0].ReportingInstance))
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		assert.NotEmpty(t, s.all()[0].ReportingInstance, "the hostname")
	})
}
