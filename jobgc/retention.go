// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

const (
	day        = 24 * time.Hour
	lowestTTL  = 30 * time.Second
	highestTTL = 7 * day
)

// Retention is how long Jobs, their runs and their logs are kept. The zero value keeps all of them, but for Jobs whose
// controller never comes back: those go after 7 days. FromEnv reads one from the environment.
type Retention struct {
	// Succeeded and Failed are how long a Job of that outcome stays after its release, so that there is that long to
	// look at it. Nil keeps it until its owner is deleted; 0 lets it go as soon as its result is recorded. Other
	// values are brought within 30 seconds and 7 days.
	Succeeded, Failed *time.Duration

	// Backstop is the TTL of a Job whose result is not recorded. It counts from the finish, and cleans up when the
	// controller never comes back to record and release. Zero means 7 days; negative means none.
	Backstop time.Duration

	// Runs is how long a finished run is kept, see Expired. Zero keeps it.
	Runs time.Duration

	// Logs is how long the logs of a run are kept. This package only reads and shows it. Zero sets no limit.
	Logs time.Duration

	// Retain is the annotation that keeps a run for good. Zero means agents.proompteng.ai/retain.
	Retain string

	_ struct{}
}

// AtCreate is the ttlSecondsAfterFinished of a Job whose result is not recorded yet; nil means none.
func (r Retention) AtCreate() *int32 {
	switch {
	case r.Backstop < 0:
		return nil
	case r.Backstop == 0:
		return seconds(highestTTL)
	}
	return seconds(r.Backstop)
}

// AtRelease is the ttlSecondsAfterFinished of a Job whose outcome is recorded; nil means none. Kubernetes counts a TTL
// from the finish, so the time since then is added: a TTL that is set late would otherwise delete at once what was to
// be kept. A finish that is zero or in the future counts as now. Without an outcome the TTL is that of AtCreate.
//
// Clamped says that the value was brought within 30 seconds and 7 days, or is longer than Kubernetes can count; it is
// then nil.
func (r Retention) AtRelease(outcome Outcome, finishedAt, now time.Time) (ttl *int32, clamped bool) {
	var keep *time.Duration
	switch outcome {
	case Succeeded:
		keep = r.Succeeded
	case Failed:
		keep = r.Failed
	default:
		return r.AtCreate(), false
	}
	switch {
	case keep == nil:
		return nil, false
	case *keep == 0:
		return new(int32(0)), false
	}
	d := min(max(*keep, lowestTTL), highestTTL)
	clamped = d != *keep
	var elapsed time.Duration
	if !finishedAt.IsZero() {
		elapsed = min(max(0, now.Sub(finishedAt)), math.MaxInt64-d) // Sub saturates, and so is the sum to do
	}
	ttl = seconds(d + elapsed)
	return ttl, clamped || ttl == nil
}

// For returns r with a run's own jobTTLSecondsAfterFinished, for either outcome: nil changes nothing, and 0 lets the
// Job go as soon as its result is recorded. A negative value is an error.
func (r Retention) For(own *int32) (Retention, error) {
	if own == nil {
		return r, nil
	}
	if *own < 0 {
		return r, fmt.Errorf("jobgc: jobTTLSecondsAfterFinished: %d is not accepted; want whole seconds from 0", *own)
	}
	d := time.Duration(*own) * time.Second
	r.Succeeded, r.Failed = &d, &d
	return r, nil
}

// Annotate writes r on a Job for people to read. Ensure does it with Options.Retention unless the Job has it already;
// call it before Ensure for a run with a retention of its own.
func (r Retention) Annotate(job *batchv1.Job) {
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Annotations[annotation] = r.String()
}

const annotation = "jobgc.controllerkit.dev/retention"

// seconds rounds up, so that nothing goes early; nil is more than ttlSecondsAfterFinished can hold.
func seconds(d time.Duration) *int32 {
	s := d / time.Second
	if d%time.Second > 0 {
		s++
	}
	if s > math.MaxInt32 {
		return nil
	}
	return new(int32(s))
}
