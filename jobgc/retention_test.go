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
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

func TestFinalTTL(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ten := jobgc.Retention{SucceededTTL: 10 * time.Minute, FailedTTL: 24 * time.Hour}
	cases := map[string]struct {
		reason   string
		keep     jobgc.Retention
		outcome  jobgc.Outcome
		asked    string
		finished time.Time
		want     *int32
	}{
		"AtTheFinish":  {"At the finish, the TTL is exactly the retention.", ten, jobgc.Succeeded, "", now, ptr.To[int32](600)},
		"Failed":       {"A failed Job gets FailedTTL.", ten, jobgc.Failed, "", now, ptr.To[int32](86400)},
		"Later":        {"The time since the finish is added, because Kubernetes counts from the finish.", ten, jobgc.Succeeded, "", now.Add(-time.Hour), ptr.To[int32](4200)},
		"Fraction":     {"The time since the finish is rounded up.", ten, jobgc.Succeeded, "", now.Add(-time.Nanosecond), ptr.To[int32](601)},
		"ClockSkew":    {"A finish in the future counts as now: the TTL is not shortened.", ten, jobgc.Succeeded, "", now.Add(time.Hour), ptr.To[int32](600)},
		"NoFinish":     {"An unknown finish counts as now.", ten, jobgc.Succeeded, "", time.Time{}, ptr.To[int32](600)},
		"Zero":         {"A TTL of zero keeps the Job.", jobgc.Retention{FailedTTL: time.Hour}, jobgc.Succeeded, "", now, nil},
		"ZeroFailed":   {"A FailedTTL of zero keeps failed Jobs.", jobgc.Retention{SucceededTTL: time.Minute}, jobgc.Failed, "", now, nil},
		"Second":       {"A short TTL is not raised.", jobgc.Retention{SucceededTTL: time.Second}, jobgc.Succeeded, "", now, ptr.To[int32](1)},
		"Year":         {"A long TTL is not lowered.", jobgc.Retention{SucceededTTL: 365 * 24 * time.Hour}, jobgc.Succeeded, "", now, ptr.To[int32](31536000)},
		"Asked":        {"The TTL of the built Job replaces the retention.", ten, jobgc.Failed, "60", now.Add(-time.Minute), ptr.To[int32](120)},
		"AskedZero":    {"A TTL of 0 in the built Job deletes it immediately, as in Kubernetes.", ten, jobgc.Succeeded, "0", now.Add(-time.Hour), ptr.To[int32](0)},
		"AskedText":    {"An edited annotation that is not a number is ignored.", ten, jobgc.Succeeded, "soon", now, ptr.To[int32](600)},
		"AskedMinus":   {"An edited annotation that is negative is ignored.", ten, jobgc.Succeeded, "-1", now, ptr.To[int32](600)},
		"MaxInt32":     {"68 years after the finish, the TTL still fits.", jobgc.Retention{SucceededTTL: time.Minute}, jobgc.Succeeded, "", now.Add(-(math.MaxInt32 - 60) * time.Second), ptr.To[int32](math.MaxInt32)},
		"PastMaxInt32": {"A second later the TTL does not fit, so there is none.", jobgc.Retention{SucceededTTL: time.Minute}, jobgc.Succeeded, "", now.Add(-(math.MaxInt32 - 59) * time.Second), nil},
		"LimitsOfTime": {"The sum must not overflow.", jobgc.Retention{SucceededTTL: time.Minute}, jobgc.Succeeded, "", time.Unix(math.MinInt64/4, 0), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			job := &batchv1.Job{}
			if tc.asked != "" {
				job.Annotations = map[string]string{"jobgc.controllerkit.dev/ttl-seconds-after-finished": tc.asked}
			}
			assert.Equal(t, tc.want, tc.keep.Final(job, jobgc.Observation{Outcome: tc.outcome, FinishedAt: tc.finished}, now), tc.reason)
		})
	}
}

// A value out of range is an error and is never clamped.
//
//req:shows J1
func TestNewRefusesARetentionOutOfRange(t *testing.T) {
	for field, keep := range map[string]jobgc.Retention{
		"SucceededTTL: -1s":         {SucceededTTL: -time.Second},
		"FailedTTL: -1ns":           {FailedTTL: -1},
		"SucceededTTL: 613200h0m0s": {SucceededTTL: 70 * 365 * 24 * time.Hour},
	} {
		_, err := jobgc.New(newServer().client, nil, jobgc.Options{Retention: keep})
		require.ErrorContains(t, err, "jobgc: new: Options.Retention."+field+" is not accepted; want 0 to keep, or ")
	}
	_, err := jobgc.New(newServer().client, nil, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Second}})
	require.NoError(t, err)
}

//req:shows J1
func TestWarnings(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		keep   jobgc.Retention
		want   []string
	}{
		"Kept": {"The name of a Job that stays is taken.", jobgc.Retention{}, nil},
		"Long": {"A delayed creation is given up before.", jobgc.Retention{SucceededTTL: 90 * time.Second, FailedTTL: 90 * time.Second}, nil},
		"Short": {"A delayed creation may find the name free.", jobgc.Retention{SucceededTTL: 89 * time.Second, FailedTTL: 1}, []string{
			"Retention.SucceededTTL 1m29s: a replica that stalls between its read of the owner and the creation can run the work again; use 1m30s or more",
			"Retention.FailedTTL 1ns: a replica that stalls between its read of the owner and the creation can run the work again; use 1m30s or more",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, tc.keep.Warnings(), tc.reason)
		})
	}
}
