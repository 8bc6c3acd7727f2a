// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestExpired(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	hour := Options{TTL: time.Hour}
	plain := &metav1.ObjectMeta{Name: "run"}
	cases := map[string]struct {
		reason   string
		keep     Options
		run      metav1.Object
		finished time.Time
		own      *int32
		want     bool
		in       time.Duration
	}{
		"Young":        {"The retention is not over yet.", hour, plain, ago(59 * time.Minute), nil, false, time.Minute},
		"Due":          {"The run expires exactly when the retention is over.", hour, plain, ago(time.Hour), nil, true, 0},
		"Old":          {"The retention was over long ago.", hour, plain, ago(1000 * time.Hour), nil, true, 0},
		"KeepAll":      {"A RunTTL of 0 keeps the run.", Options{}, plain, ago(1000 * time.Hour), nil, false, 0},
		"OwnShorter":   {"The run's own value counts first.", hour, plain, ago(time.Minute), ptr.To[int32](60), true, 0},
		"OwnLonger":    {"The run's own value counts first.", hour, plain, ago(2 * time.Hour), ptr.To[int32](3 * 3600), false, time.Hour},
		"OwnKeeps":     {"The run's own 0 keeps the run.", hour, plain, ago(1000 * time.Hour), ptr.To[int32](0), false, 0},
		"OwnAlone":     {"The run's own value counts even if RunTTL keeps runs.", Options{}, plain, ago(time.Minute), ptr.To[int32](60), true, 0},
		"OwnNegative":  {"A negative value of the run keeps the run.", hour, plain, ago(1000 * time.Hour), ptr.To[int32](-1), false, 0},
		"Negative":     {"A negative RunTTL keeps the run.", Options{TTL: -time.Hour}, plain, ago(1000 * time.Hour), nil, false, 0},
		"NotFinished":  {"A run that has not finished never expires.", hour, plain, time.Time{}, nil, false, 0},
		"ClockSkew":    {"A finish in the future makes the wait longer.", hour, plain, ago(-time.Minute), nil, false, 61 * time.Minute},
		"FarFuture":    {"The sum must not overflow.", Options{TTL: math.MaxInt64}, plain, ago(-time.Minute), nil, false, math.MaxInt64},
		"LimitsOfTime": {"The sum must not overflow.", hour, plain, time.Unix(math.MinInt64/4, 0), nil, true, 0},
		"BeingDeleted": {"A run that is being deleted is not deleted again.", hour, &metav1.ObjectMeta{DeletionTimestamp: ptr.To(metav1.NewTime(now))}, ago(1000 * time.Hour), nil, false, 0},
	}
	for _, v := range []string{"1", "true", "TRUE", "yes", "y", "on", "keep", "Forever", " yes "} {
		cases["Retained:"+v] = struct {
			reason   string
			keep     Options
			run      metav1.Object
			finished time.Time
			own      *int32
			want     bool
			in       time.Duration
		}{"The annotation keeps the run.", hour, retains(v), ago(1000 * time.Hour), ptr.To[int32](1), false, 0}
	}
	for _, v := range []string{"", "0", "false", "no", "off", "yess"} {
		cases["NotRetained:"+v] = struct {
			reason   string
			keep     Options
			run      metav1.Object
			finished time.Time
			own      *int32
			want     bool
			in       time.Duration
		}{"Other values of the annotation do not keep the run.", hour, retains(v), ago(time.Hour), nil, true, 0}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in, ever := run{tc.run, tc.finished, tc.own}.expiresIn(tc.keep, now)
			assert.Equal(t, tc.want, ever && in <= 0, tc.reason)
			if !tc.want {
				assert.Equal(t, tc.in, in, tc.reason)
			}
		})
	}
}

func retains(value string) metav1.Object {
	return &metav1.ObjectMeta{Annotations: map[string]string{"agents.proompteng.ai/retain": value}}
}

// FuzzExpired checks that a run is deleted when its time is over, and not
// before.
func FuzzExpired(f *testing.F) {
	f.Add(int64(3600e9), int64(0), int64(3599))
	f.Add(int64(1), int64(1<<40), int64(0))
	f.Add(int64(1<<63-1), int64(-1<<62), int64(1<<62))
	f.Fuzz(func(t *testing.T, keep, finish, now int64) {
		finish, now = finish>>8, now>>8
		r := Options{TTL: time.Duration(keep)}
		in, ever := run{&metav1.ObjectMeta{}, time.Unix(finish, 0), nil}.expiresIn(r, time.Unix(now, 0))
		due := new(big.Int).Mul(big.NewInt(finish), big.NewInt(1e9))
		due.Add(due, big.NewInt(keep))
		at := new(big.Int).Mul(big.NewInt(now), big.NewInt(1e9))
		require.Equal(t, keep > 0, ever)
		require.Equal(t, keep > 0 && at.Cmp(due) >= 0, ever && in <= 0)
		if in > 0 {
			require.LessOrEqual(t, at.Add(at, big.NewInt(int64(in))).Cmp(due), 0, "the wait does not overshoot")
		}
	})
}
