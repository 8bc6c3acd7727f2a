// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

func TestAtCreate(t *testing.T) {
	cases := map[string]struct {
		reason   string
		backstop time.Duration
		want     *int32
	}{
		"Zero":      {"A week.", 0, new(int32(604800))},
		"Negative":  {"None.", -1, nil},
		"OneHour":   {"As it is.", time.Hour, new(int32(3600))},
		"RoundedUp": {"Never shorter than was asked for.", 1500 * time.Millisecond, new(int32(2))},
		"Nanosec":   {"Never 0.", 1, new(int32(1))},
		"Longest":   {"What fits.", math.MaxInt32 * time.Second, new(int32(math.MaxInt32))},
		"TooLong":   {"What cannot be counted is no TTL, for any TTL would be shorter.", math.MaxInt32*time.Second + 1, nil},
		"Limit":     {"No overflow.", math.MaxInt64, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, jobgc.Retention{Backstop: tc.backstop}.AtCreate(), tc.reason)
		})
	}
}

func TestAtRelease(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ten := jobgc.Retention{Succeeded: new(10 * time.Minute), Failed: new(24 * time.Hour)}
	of := func(d time.Duration) jobgc.Retention { return jobgc.Retention{Succeeded: &d, Failed: &d} }
	cases := map[string]struct {
		reason   string
		keep     jobgc.Retention
		outcome  jobgc.Outcome
		finished time.Time
		now      time.Time
		want     *int32
		clamped  bool
	}{
		"AtTheFinish":    {"Nothing to add.", ten, jobgc.Succeeded, now, now, new(int32(600)), false},
		"Failed":         {"Its own time.", ten, jobgc.Failed, now, now, new(int32(86400)), false},
		"Later":          {"The time since is added: Kubernetes counts from the finish.", ten, jobgc.Succeeded, now.Add(-time.Hour), now, new(int32(4200)), false},
		"Fraction":       {"Rounded up.", ten, jobgc.Succeeded, now.Add(-time.Nanosecond), now, new(int32(601)), false},
		"ClockSkew":      {"A finish in the future counts as now: nothing is taken off.", ten, jobgc.Succeeded, now.Add(time.Hour), now, new(int32(600)), false},
		"NoFinish":       {"An unknown finish counts as now.", ten, jobgc.Succeeded, time.Time{}, now, new(int32(600)), false},
		"Keep":           {"Nil keeps.", jobgc.Retention{}, jobgc.Succeeded, now, now, nil, false},
		"KeepFailedOnly": {"Nil keeps that outcome.", jobgc.Retention{Succeeded: new(time.Minute)}, jobgc.Failed, now, now, nil, false},
		"AtOnce":         {"0 is never clamped.", of(0), jobgc.Succeeded, now.Add(-time.Hour), now, new(int32(0)), false},
		"Floor":          {"As it is.", of(30 * time.Second), jobgc.Succeeded, now, now, new(int32(30)), false},
		"BelowFloor":     {"Raised, and reported.", of(29 * time.Second), jobgc.Succeeded, now, now, new(int32(30)), true},
		"Negative":       {"Raised, and reported; never negative.", of(-time.Hour), jobgc.Succeeded, now, now, new(int32(30)), true},
		"Ceiling":        {"As it is.", of(7 * 24 * time.Hour), jobgc.Succeeded, now, now, new(int32(604800)), false},
		"AboveCeiling":   {"Lowered, and reported.", of(7*24*time.Hour + 1), jobgc.Succeeded, now, now, new(int32(604800)), true},
		"ClampedAndLate": {"The bounds are those of the time from the release.", of(time.Second), jobgc.Succeeded, now.Add(-time.Hour), now, new(int32(3630)), true},
		"NoOutcome":      {"Whatever is kept for an outcome: without one the backstop stays.", of(0), "", now, now, new(int32(604800)), false},
		"OtherOutcome":   {"An outcome that is none.", of(0), "Cancelled", now, now, new(int32(604800)), false},
		"MaxInt32":       {"68 years after the finish the promise still fits.", of(time.Minute), jobgc.Succeeded, now.Add(-(math.MaxInt32 - 60) * time.Second), now, new(int32(math.MaxInt32)), false},
		"PastMaxInt32":   {"A second later no TTL can keep it, so there is none.", of(time.Minute), jobgc.Succeeded, now.Add(-(math.MaxInt32 - 59) * time.Second), now, nil, true},
		"LimitsOfTime":   {"Nothing overflows.", of(time.Minute), jobgc.Succeeded, time.Unix(math.MinInt64/4, 0), time.Unix(math.MaxInt64/4, 0), nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ttl, clamped := tc.keep.AtRelease(tc.outcome, tc.finished, tc.now)
			assert.Equal(t, tc.want, ttl, tc.reason)
			assert.Equal(t, tc.clamped, clamped, tc.reason)
		})
	}
}

// A run's own jobTTLSecondsAfterFinished.
func TestFor(t *testing.T) {
	now := time.Unix(1000, 0)
	base := jobgc.Retention{Succeeded: new(10 * time.Minute), Runs: time.Hour, Backstop: 2 * time.Hour}
	cases := map[string]struct {
		reason            string
		own               *int32
		succeeded, failed *int32
	}{
		"Unset":   {"Nothing changes.", nil, new(int32(600)), nil},
		"Zero":    {"As soon as the result is recorded.", new(int32(0)), new(int32(0)), new(int32(0))},
		"Minute":  {"For either outcome.", new(int32(60)), new(int32(60)), new(int32(60))},
		"Short":   {"Within the bounds of all Jobs.", new(int32(1)), new(int32(30)), new(int32(30))},
		"Longest": {"No overflow.", new(int32(math.MaxInt32)), new(int32(604800)), new(int32(604800))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := base.For(tc.own)
			require.NoError(t, err)
			succeeded, _ := got.AtRelease(jobgc.Succeeded, now, now)
			failed, _ := got.AtRelease(jobgc.Failed, now, now)
			assert.Equal(t, tc.succeeded, succeeded, tc.reason)
			assert.Equal(t, tc.failed, failed, tc.reason)
			assert.Equal(t, base.Backstop, got.Backstop, "the rest stays")
			assert.Equal(t, base.Runs, got.Runs, "the rest stays")
			assert.Equal(t, 10*time.Minute, *base.Succeeded, "the base is a value")
		})
	}
	got, err := base.For(new(int32(-1)))
	require.ErrorContains(t, err, "jobTTLSecondsAfterFinished")
	assert.Equal(t, base, got)
}

func TestExposure(t *testing.T) {
	hour := time.Hour
	cases := map[string]struct {
		reason string
		keep   jobgc.Retention
		job    *batchv1.Job
		want   []string // words of each warning
	}{
		"Default":       {"Nothing to say.", jobgc.Retention{}, nil, nil},
		"Usual":         {"Nothing to say.", jobgc.Retention{Succeeded: &hour, Failed: &hour}, &batchv1.Job{}, nil},
		"Floor":         {"A value that is not used.", jobgc.Retention{Succeeded: new(time.Second)}, nil, []string{"Succeeded Jobs: a TTL of 1s is out of bounds; 30s"}},
		"Ceiling":       {"A value that is not used.", jobgc.Retention{Failed: new(1000 * time.Hour)}, nil, []string{"Failed Jobs: a TTL of 1000h0m0s is out of bounds; 168h0m0s"}},
		"AtOnce":        {"Logs go too.", jobgc.Retention{Succeeded: new(time.Duration(0))}, nil, []string{"pods and logs"}},
		"ShortBackstop": {"An outage outlasts it.", jobgc.Retention{Backstop: time.Minute}, nil, []string{"backstop of 1m0s"}},
		"HourBackstop":  {"As long as it should be.", jobgc.Retention{Backstop: time.Hour}, nil, nil},
		"NoBackstop":    {"Nothing vanishes.", jobgc.Retention{Backstop: -1}, &batchv1.Job{}, nil},
		"TemplateTTL":   {"It is replaced.", jobgc.Retention{}, &batchv1.Job{Spec: batchv1.JobSpec{TTLSecondsAfterFinished: new(int32(0))}}, []string{"ttlSecondsAfterFinished of 0"}},
		"TemplateTTLAndNoBackstop": {
			"It is removed.", jobgc.Retention{Backstop: -1}, &batchv1.Job{Spec: batchv1.JobSpec{TTLSecondsAfterFinished: new(int32(10))}}, []string{"ttlSecondsAfterFinished of 10"},
		},
		"LongTemplateTTL": {"It stays.", jobgc.Retention{}, &batchv1.Job{Spec: batchv1.JobSpec{TTLSecondsAfterFinished: new(int32(604800))}}, nil},
		"CronJob": {
			"Its history limits know no TTL.",
			jobgc.Retention{},
			&batchv1.Job{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "CronJob", Name: "nightly", Controller: new(true)}}}},
			[]string{"CronJob nightly deletes its finished Jobs"},
		},
		"ManagedBy": {"The TTL controller does not care.", jobgc.Retention{}, &batchv1.Job{Spec: batchv1.JobSpec{ManagedBy: new("example.com/queue")}}, []string{"example.com/queue"}},
		"ManagedByDefault": {
			"The usual one.", jobgc.Retention{}, &batchv1.Job{Spec: batchv1.JobSpec{ManagedBy: new(batchv1.JobControllerName)}}, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.keep.Exposure(tc.job)
			require.Len(t, got, len(tc.want), tc.reason)
			for i, words := range tc.want {
				assert.Contains(t, got[i], words, tc.reason)
			}
		})
	}
}
