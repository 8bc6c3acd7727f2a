// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// longestTTL is what ttlSecondsAfterFinished can hold.
const longestTTL = math.MaxInt32 * time.Second

// Retention is how long Jobs are kept. A zero duration keeps, so the zero value
// keeps all of them; a Job then goes with its owner. New and Step refuse a
// negative duration, and one above 68 years. Package settings reads a Retention
// from the environment.
type Retention struct {
	// SucceededTTL and FailedTTL are how long a Job of that outcome stays
	// after its outcome is recorded. Below 90 seconds, work can run twice. A
	// Job whose TTL at its end is within a tenth of this, and within a minute,
	// keeps that TTL.
	SucceededTTL, FailedTTL time.Duration

	// UnrecordedTTL is the least TTL of a Job whose outcome is not recorded; a
	// longer ttlSecondsAfterFinished of the Job replaces it. It counts from the
	// finish, and cleans up if the controller never comes back. A result is
	// lost if the controller is down for longer. If the API server refuses to
	// patch a Job that Step adopts, that Job keeps its TTL and gets no
	// finalizer, and the logger of the context has a line. Step does not try
	// again once the Ref is recorded: grant patch before the controller starts.
	UnrecordedTTL time.Duration

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
		{"UnrecordedTTL", r.UnrecordedTTL},
	} {
		if f.ttl < 0 || f.ttl > longestTTL {
			errs = append(errs, fmt.Errorf("%s: %s is not accepted; want 0 to keep, or a positive duration "+
				"up to 68 years (%s)", "Retention."+f.name, f.ttl, longestTTL))
		}
	}
	return errs
}

// atCreation is the ttlSecondsAfterFinished of a Job whose outcome is not
// recorded: the longer one of UnrecordedTTL and what the Job asks for. Nil is
// none.
func (r Retention) atCreation(asked *int32) *int32 {
	backstop := seconds(r.UnrecordedTTL)
	if r.UnrecordedTTL == 0 || backstop == nil {
		return nil
	}
	if asked != nil && *asked > *backstop {
		return asked
	}
	return backstop
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

const (
	// annotation shows the retention on a Job for people to read.
	annotation = "jobgc.controllerkit.dev/retention"
	// askedAnnotation is the ttlSecondsAfterFinished of the Job that the caller
	// built.
	askedAnnotation = "jobgc.controllerkit.dev/ttl-seconds-after-finished"
	// releasedAnnotation is when a Job was released.
	releasedAnnotation = "jobgc.controllerkit.dev/released"
)

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
		"unrecorded", orKeep(r.UnrecordedTTL),
	}
}

// text shows the values on one line.
func (r Retention) text() string {
	var b strings.Builder
	for i, v := range r.LogValues() {
		switch {
		case i == 0:
		case i%2 == 0:
			b.WriteByte(' ')
		default:
			b.WriteByte('=')
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}

func orKeep(d time.Duration) string {
	if d == 0 {
		return "keep"
	}
	return d.String()
}

// leastBackstop is what a backstop should be at least: a controller may be down
// that long.
const leastBackstop = time.Hour

// Warnings lists, for operators, the settings that can delete a Job or its
// result early. Pass a Job as the caller builds it, or nil.
func (r Retention) Warnings(job *batchv1.Job) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, err := range r.check() {
		say("%s", err)
	}
	if r.UnrecordedTTL > 0 && r.UnrecordedTTL < leastBackstop {
		say("Retention.UnrecordedTTL %s: a finished Job is deleted before its result is recorded if the "+
			"controller is down for longer; use %s or more", r.UnrecordedTTL, leastBackstop)
	}
	out = append(out, r.freesNames()...)
	if job == nil {
		return out
	}
	template := job.Spec
	if owner := metav1.GetControllerOfNoCopy(job); owner != nil && owner.Kind == "CronJob" {
		say("CronJob %s deletes its finished Jobs by successfulJobsHistoryLimit and "+
			"failedJobsHistoryLimit, independent of their TTL; raise both, or set Options.Finalizer",
			owner.Name)
	}
	asked := template.TTLSecondsAfterFinished
	if asked != nil && *asked == 0 {
		say("the template's ttlSecondsAfterFinished of 0: the Job is deleted as soon as its outcome is " +
			"recorded, and its pods and logs with it")
	}
	if asked != nil && time.Duration(*asked)*time.Second < leastFinalTTL {
		say("the template's ttlSecondsAfterFinished of %d: %s", *asked, runsTwice())
	}
	if template.ManagedBy != nil && *template.ManagedBy != batchv1.JobControllerName {
		say("the template's managedBy %q: Kubernetes deletes such a Job by its TTL all the same",
			*template.ManagedBy)
	}
	return out
}

// freesNames lists the final TTLs that can free the name of a Job before a
// delayed creation is given up.
func (r Retention) freesNames() []string {
	var out []string
	for _, f := range []struct {
		name string
		ttl  time.Duration
	}{{"SucceededTTL", r.SucceededTTL}, {"FailedTTL", r.FailedTTL}} {
		if f.ttl > 0 && f.ttl < leastFinalTTL {
			out = append(out, fmt.Sprintf("Retention.%s %s: %s", f.name, f.ttl, runsTwice()))
		}
	}
	return out
}

func runsTwice() string {
	return fmt.Sprintf("a replica that stalls between its read of the owner and the creation can run the "+
		"work again; use %s or more", leastFinalTTL)
}
