// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

func TestExpired(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	hour := jobgc.Retention{Runs: time.Hour}
	run := &metav1.ObjectMeta{Name: "run"}
	cases := map[string]struct {
		reason   string
		keep     jobgc.Retention
		run      metav1.Object
		finished time.Time
		own      *int32
		want     bool
		in       time.Duration
	}{
		"Young":         {"It has time left.", hour, run, ago(59 * time.Minute), nil, false, time.Minute},
		"Due":           {"To the instant.", hour, run, ago(time.Hour), nil, true, 0},
		"Old":           {"Long since.", hour, run, ago(1000 * time.Hour), nil, true, 0},
		"KeepAll":       {"0 keeps.", jobgc.Retention{}, run, ago(1000 * time.Hour), nil, false, 0},
		"OwnShorter":    {"The run's own value counts first.", hour, run, ago(time.Minute), new(int32(60)), true, 0},
		"OwnLonger":     {"The run's own value counts first.", hour, run, ago(2 * time.Hour), new(int32(3 * 3600)), false, time.Hour},
		"OwnKeeps":      {"Its 0 keeps it.", hour, run, ago(1000 * time.Hour), new(int32(0)), false, 0},
		"OwnAlone":      {"Also where others are kept.", jobgc.Retention{}, run, ago(time.Minute), new(int32(60)), true, 0},
		"OwnNegative":   {"Nothing is deleted on a value that makes no sense.", hour, run, ago(1000 * time.Hour), new(int32(-1)), false, 0},
		"Negative":      {"Nor on such a setting.", jobgc.Retention{Runs: -time.Hour}, run, ago(1000 * time.Hour), nil, false, 0},
		"NotFinished":   {"A run that goes on is never deleted.", hour, run, time.Time{}, nil, false, 0},
		"ClockSkew":     {"A finish in the future.", hour, run, ago(-time.Minute), nil, false, 61 * time.Minute},
		"FarFuture":     {"Nothing overflows.", jobgc.Retention{Runs: math.MaxInt64}, run, ago(-time.Minute), nil, false, math.MaxInt64},
		"LimitsOfTime":  {"Nothing overflows.", hour, run, time.Unix(math.MinInt64/4, 0), nil, true, 0},
		"BeingDeleted":  {"Once is enough.", hour, &metav1.ObjectMeta{DeletionTimestamp: new(metav1.NewTime(now))}, ago(1000 * time.Hour), nil, false, 0},
		"Nil":           {"Nothing to delete.", hour, nil, ago(1000 * time.Hour), nil, false, 0},
		"NilPointer":    {"Nothing to delete.", hour, (*metav1.ObjectMeta)(nil), ago(1000 * time.Hour), nil, false, 0},
		"OtherRetained": {"An annotation of one's own replaces the usual one.", jobgc.Retention{Runs: time.Hour, Retain: "x.com/keep"}, retained("yes"), ago(time.Hour), nil, true, 0},
	}
	for _, v := range []string{"1", "true", "TRUE", "yes", "y", "on", "keep", "Forever", " yes "} {
		cases["Retained:"+v] = struct {
			reason   string
			keep     jobgc.Retention
			run      metav1.Object
			finished time.Time
			own      *int32
			want     bool
			in       time.Duration
		}{"Someone wants to keep it.", hour, retained(v), ago(1000 * time.Hour), new(int32(1)), false, 0}
	}
	for _, v := range []string{"", "0", "false", "no", "off", "yess"} {
		cases["NotRetained:"+v] = struct {
			reason   string
			keep     jobgc.Retention
			run      metav1.Object
			finished time.Time
			own      *int32
			want     bool
			in       time.Duration
		}{"These words do not keep it.", hour, retained(v), ago(time.Hour), nil, true, 0}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, in := tc.keep.Expired(tc.run, tc.finished, tc.own, now)
			assert.Equal(t, tc.want, got, tc.reason)
			assert.Equal(t, tc.in, in, tc.reason)
		})
	}
}

func retained(value string) metav1.Object {
	return &metav1.ObjectMeta{Annotations: map[string]string{"agents.proompteng.ai/retain": value}}
}
