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

func TestNewRefuses(t *testing.T) {
	good := (&server{}).sink()
	cases := map[string]struct {
		reason     string
		sink       *events.Sink
		controller string
		options    events.Options
		names      string
	}{
		"NoSink":         {"Nothing falls back to a global.", nil, controller, events.Options{}, "NewSink"},
		"EmptySink":      {"Nor does a sink without a client.", events.NewSink[eventsFake, coreFake](nil, nil), controller, events.Options{}, "NewSink"},
		"ZeroSink":       {"Nor one that was not made.", &events.Sink{}, controller, events.Options{}, "NewSink"},
		"NoController":   {"The API server requires a name.", good, "", events.Options{}, "agents.example.com/agentrun"},
		"BadController":  {"A qualified one.", good, "a b", events.Options{}, "a b"},
		"LongController": {"With at most 63 bytes after the slash.", good, "x/" + strings.Repeat("a", 64), events.Options{}, "63"},
		"TwoSlashes":     {"And one slash at most.", good, "a/b/c", events.Options{}, "a/b/c"},
		"PerMinute":      {"Nothing is guessed of a negative number.", good, controller, events.Options{PerMinute: -1}, "PerMinute"},
		"PerMinuteHuge":  {"A hundred a second is no cap.", good, controller, events.Options{PerMinute: 6001}, "6000"},
		"TotalPerSecond": {"Likewise.", good, controller, events.Options{TotalPerSecond: -0.5}, "TotalPerSecond"},
		"NaN":            {"Nor of no number at all.", good, controller, events.Options{TotalPerSecond: math.NaN()}, "TotalPerSecond"},
		"MaxObjects":     {"Likewise.", good, controller, events.Options{MaxObjects: -1}, "MaxObjects"},
		"MaxReasons":     {"Likewise.", good, controller, events.Options{MaxReasons: -1}, "MaxReasons"},
		"Quiet":          {"Likewise.", good, controller, events.Options{Quiet: -1}, "Quiet"},
		"MaxAge":         {"Likewise.", good, controller, events.Options{MaxAge: -1}, "MaxAge"},
		"Grace":          {"Likewise.", good, controller, events.Options{Grace: -1}, "Grace"},
		"Namespace":      {"The API server takes no other.", good, controller, events.Options{Namespace: "runs"}, "kube-system"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec, err := events.New(tc.sink, tc.controller, tc.options)
			require.ErrorContains(t, err, tc.names, tc.reason)
			assert.Nil(t, rec)
		})
	}
}

func TestNewNamesAllThatIsWrong(t *testing.T) {
	_, err := events.New(nil, "agent run", events.Options{PerMinute: 7000, Quiet: -1, Namespace: "foo"})
	for _, part := range []string{"NewSink", `"agent run"`, "agents.example.com/agentrun", "PerMinute is 7000", "Quiet is -1ns", `Namespace is "foo"`} {
		require.ErrorContains(t, err, part)
	}
	assert.NotContains(t, err.Error(), "regex")
}

func TestNewAcceptsTheLimits(t *testing.T) {
	for _, name := range []string{"agentrun", "agents.example.com/" + strings.Repeat("a", 63), "Agent_Run.v1"} {
		for _, o := range []events.Options{
			{},
			{PerMinute: 1},
			{PerMinute: 6000},
			{TotalPerSecond: 1e-9},
			{TotalPerSecond: 1e12},
			{TotalPerSecond: math.Inf(1)},
			{Quiet: 1},
			{Grace: 1},
			{MaxObjects: 1, MaxReasons: 1},
			{Scheme: (*runtime.Scheme)(nil)},
			{Namespace: "kube-system"},
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

func TestTheInstanceIsNeverRefused(t *testing.T) {
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

func TestFromEnv(t *testing.T) {
	const on, rate = "JANGAR_CONTROLLER_EVENTS_ENABLED", "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN"
	cases := map[string]struct {
		reason string
		env    map[string]string
		names  events.Names
		want   events.Options
		fails  string
	}{
		"Unset":      {"Enabled, and the default rate.", nil, events.Names{}, events.Options{}, ""},
		"Empty":      {"Helm renders an unset value as an empty string.", map[string]string{on: "", rate: " ", "POD_NAME": ""}, events.Names{}, events.Options{}, ""},
		"Disabled":   {"The off switch.", map[string]string{on: "false"}, events.Names{}, events.Options{Disabled: true}, ""},
		"Off":        {"In all accepted forms.", map[string]string{on: "OFF"}, events.Names{}, events.Options{Disabled: true}, ""},
		"Enabled":    {"As is on.", map[string]string{on: "Yes", rate: "10"}, events.Names{}, events.Options{PerMinute: 10}, ""},
		"Instance":   {"The downward API names the pod.", map[string]string{"POD_NAME": "pod-0"}, events.Names{}, events.Options{Instance: "pod-0"}, ""},
		"Blank":      {"As if it were not set.", map[string]string{"POD_NAME": " \t"}, events.Names{}, events.Options{}, ""},
		"BadBool":    {"Nothing is guessed.", map[string]string{on: "enabled"}, events.Names{}, events.Options{}, on},
		"BadRate":    {"5/m is not 5.", map[string]string{rate: "5/m"}, events.Names{}, events.Options{}, rate},
		"ZeroRate":   {"0 would be read as none or as all; the switch is the other variable.", map[string]string{rate: "0"}, events.Names{}, events.Options{}, rate},
		"Negative":   {"There is no such rate.", map[string]string{rate: "-1"}, events.Names{}, events.Options{}, rate},
		"Fraction":   {"Whole numbers.", map[string]string{rate: "2.5"}, events.Names{}, events.Options{}, rate},
		"HugeRate":   {"Out of range.", map[string]string{rate: "6001"}, events.Names{}, events.Options{}, rate},
		"Agents":     {"The second generation of names.", map[string]string{"AGENTS_CONTROLLER_EVENTS_ENABLED": "0", rate: "x"}, events.AgentsNames(), events.Options{Disabled: true}, ""},
		"AgentsRate": {"Likewise.", map[string]string{"AGENTS_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN": "7"}, events.AgentsNames(), events.Options{PerMinute: 7}, ""},
		"Own": {
			"A controller's own names.",
			map[string]string{"EVENTS": "no", "RATE": "3", "ME": "x"},
			events.Names{Enabled: "EVENTS", PerMinute: "RATE", Instance: "ME"},
			events.Options{Disabled: true, PerMinute: 3, Instance: "x"},
			"",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := events.FromEnv(func(name string) (string, bool) {
				v, ok := tc.env[name]
				return v, ok
			}, tc.names)
			if tc.fails != "" {
				require.ErrorContains(t, err, tc.fails, tc.reason)
				require.ErrorContains(t, err, "want", "the error says what is accepted")
				return
			}
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
		})
	}
}

func TestFromEnvNamesAllThatIsWrong(t *testing.T) {
	o, err := events.FromEnv(func(string) (string, bool) { return "-", true }, events.Names{})
	require.ErrorContains(t, err, "JANGAR_CONTROLLER_EVENTS_ENABLED")
	require.ErrorContains(t, err, "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN")
	assert.Equal(t, events.Options{}, o)
	_, err = events.FromEnv(nil, events.Names{})
	require.ErrorContains(t, err, "os.LookupEnv", "and no panic")
}
