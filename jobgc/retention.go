// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// longestTTL is what ttlSecondsAfterFinished can hold.
const longestTTL = math.MaxInt32 * time.Second

// Retention is how long Jobs are kept. With a zero duration, a Job is kept as
// long as its owner. New refuses a negative duration, and one above 68 years.
// Package settings reads a Retention from the environment.
type Retention struct {
	// SucceededTTL and FailedTTL are how long a Job of that outcome stays
	// after its outcome is recorded. Until then it has no TTL. Below 90
	// seconds, work can run twice.
	SucceededTTL, FailedTTL time.Duration

	_ struct{}
}

// check names each field whose value is out of range.
func (r Retention) check() (errs []error) {
	for _, f := range []struct {
		name string
		ttl  time.Duration
	}{
		{"SucceededTTL", r.SucceededTTL},
		{"FailedTTL", r.FailedTTL},
	} {
		if f.ttl < 0 || f.ttl > longestTTL {
			errs = append(errs, fmt.Errorf("%s: %s is not accepted; want 0 to keep, or a positive duration "+
				"up to 68 years (%s)", "Retention."+f.name, f.ttl, longestTTL))
		}
	}
	return errs
}

// final is the ttlSecondsAfterFinished of a finished Job whose outcome is
// recorded; nil is none. Kubernetes counts a TTL from the finish, so the time
// since then is added: a TTL that is set late would otherwise delete the Job
// immediately. A finish that is zero or in the future counts as now. The TTL of
// the Job that the caller built replaces the retention.
func (r Retention) final(asked *int32, f Observation, now time.Time) *int32 {
	keep := r.SucceededTTL
	if f.Outcome == Failed {
		keep = r.FailedTTL
	}
	if asked != nil {
		keep = time.Duration(*asked) * time.Second
	}
	if asked != nil && keep == 0 {
		return ptr.To[int32](0) // as Kubernetes means it
	}
	if keep == 0 {
		return nil
	}
	var elapsed time.Duration
	if !f.FinishedAt.IsZero() {
		elapsed = min(max(0, now.Sub(f.FinishedAt)), math.MaxInt64-keep) // Sub saturates, and so must the sum
	}
	return seconds(keep + elapsed)
}

// askedTTL is the ttlSecondsAfterFinished of the Job that the caller built;
// nil if it had none.
func askedTTL(job *batchv1.Job) *int32 {
	asked, err := strconv.ParseInt(job.Annotations[askedAnnotation], 10, 32)
	if err != nil || asked < 0 {
		return nil
	}
	return ptr.To(int32(asked))
}

// askedAnnotation keeps the ttlSecondsAfterFinished of the Job that the caller
// built, from the creation to the release.
const askedAnnotation = "jobgc.controllerkit.dev/ttl-seconds-after-finished"

// seconds rounds up, so that no Job is deleted early. Nil means more than
// ttlSecondsAfterFinished can hold.
func seconds(d time.Duration) *int32 {
	s := d / time.Second
	if d%time.Second > 0 {
		s++
	}
	if s > math.MaxInt32 {
		return nil
	}
	return ptr.To(int32(s))
}

// LogValues returns the values for one line of a structured log, as in
// log.Info("Retention", r.LogValues()...). A value that keeps is "keep".
func (r Retention) LogValues() []any {
	return []any{
		"succeeded", orKeep(r.SucceededTTL),
		"failed", orKeep(r.FailedTTL),
	}
}

func orKeep(d time.Duration) string {
	if d == 0 {
		return "keep"
	}
	return d.String()
}

// leastFinalTTL is longer than a creation may take after the read of its owner.
const leastFinalTTL = 90 * time.Second

// Warnings lists, for operators, the TTLs with which work can run twice: they
// free the name of a Job before a delayed creation is given up.
func (r Retention) Warnings() []string {
	var out []string
	for _, f := range []struct {
		name string
		ttl  time.Duration
	}{{"SucceededTTL", r.SucceededTTL}, {"FailedTTL", r.FailedTTL}} {
		if 0 < f.ttl && f.ttl < leastFinalTTL {
			out = append(out, fmt.Sprintf("Retention.%s %s: a replica that stalls between its read of the "+
				"owner and the creation can run the work again; use %s or more",
				f.name, f.ttl, leastFinalTTL))
		}
	}
	return out
}
