// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller runs AgentRuns as Jobs. It composes the packages of
// controllerkit on controller-runtime.
package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/status"
)

const (
	// stepTimeout is how long the requests about a Job may take, so that runs
	// whose webhook hangs do not keep the workers.
	stepTimeout = 15 * time.Second
	// writeTimeout is how long the write of a status may take. It is less than
	// the time that a manager has for its stop.
	writeTimeout = 10 * time.Second
	// hangDelay is when a creation that got no answer is tried again.
	hangDelay = 30 * time.Second
	// staleDelay is when a run is read again whose cached copy is older than
	// the last write.
	staleDelay = 200 * time.Millisecond
	// shortestBackoff is the pause after a first error. What fails rarely succeeds
	// within a second, and an API server that restarts takes several.
	shortestBackoff = time.Second
	// longestBackoff is the longest pause after errors. A Secret that comes late
	// and a quota that has room again cause no event.
	longestBackoff = 2 * time.Minute
	// retriesPerSecond of all runs. More would be a flood of requests when a quota
	// refuses hundreds of Jobs.
	retriesPerSecond = 100
	// attemptTimeout is how long one attempt may take in all.
	attemptTimeout = 40 * time.Second
	// releaseDelay is when the Job of a run that has just ended is released.
	// Until then the cache gets the end.
	releaseDelay = time.Second
	// startingTime is how long an API server may refuse valid requests after its
	// start.
	startingTime = 10 * time.Second
	// handOver is how long the end of a run is new: within it, a process reports
	// an end that another one may not have reported. After a restart the cache
	// may show the end a minute late.
	handOver = 2 * time.Minute
	// heartbeat is the longest time between two status writes of a run that
	// has not ended. An updatedAt that stops moving means a stuck controller.
	heartbeat = 10 * time.Minute
)

// Reconciler runs each AgentRun as a Job. NewManager makes it.
type Reconciler struct {
	client.Client

	live     client.Reader // the API server, not the cache
	jobs     *jobgc.Guard
	jobsIn   func(namespace string) batchv1client.JobInterface // live
	writer   status.Writer
	events   events.Emitter
	secrets  *redact.SecretValues
	measured *metrics.Controller
	runs     *metrics.Runs

	noPodsAfter time.Duration

	reported sync.Map     // by name, the uid of the run whose end this process has reported
	away     atomic.Int64 // when the API server could last not be reached, in nanoseconds
}

// Reconcile makes an attempt at one run, and measures it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var after time.Duration
	var err error
	ctx, done := r.measured.Begin(ctx, req)
	defer done(&err, &after)
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(
		attribute.String("k8s.namespace.name", req.Namespace),
		attribute.String("agentrun.name", req.Name),
		attribute.String("reconcileID", string(controller.ReconcileIDFromContext(ctx))), // as in the log
	)

	after, err = r.advance(ctx, req.NamespacedName)
	switch {
	case err == nil:
		return ctrl.Result{RequeueAfter: after}, nil
	case after > 0:
		log.FromContext(ctx).Error(err, "Reconcile failed", "retryAfter", after.String())
		return ctrl.Result{RequeueAfter: after}, nil
	}
	span.SetAttributes(attribute.String("error.type", reasonOf(err)))
	span.RecordError(err)
	return ctrl.Result{}, err // controller-runtime logs it, and waits longer each time
}

// advance takes a run as far as it can go now, and returns when to look again
// if nothing happens before. The life of a run:
//
//   - new: Step creates its Job (newJob in job.go). Nothing is written for two
//     seconds (untilStart), so that one write says that the Job exists and runs.
//   - Pending, Running: the status follows the Job (enter in phases.go).
//   - Succeeded, Failed, Cancelled: the end is recorded, then reported
//     (reportEnd). If the answer to that write is lost, or the process is killed
//     then, the next attempt reports it (isUnreported).
//   - a second later Step gives the Job its final TTL.
//   - after its retention the Sweeper deletes the run (retention.go).
func (r *Reconciler) advance(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	run := new(v1alpha1.AgentRun)
	err := r.Get(ctx, key, run)
	if apierrors.IsNotFound(err) {
		r.reported.Delete(key)
		return 0, nil // the Job of a deleted run goes with it
	}
	if err != nil {
		return 0, err
	}
	if r.writer.IsStale(run) {
		return staleDelay, nil // the cache does not show the last write yet
	}
	if r.isUnreported(ctx, run) {
		r.reportEnd(ctx, run)
		return releaseDelay, nil // until then the Event is written
	}
	before := run.DeepCopy()
	secret := r.secrets.Begin(r.secretOf(run))
	defer secret.Done()

	found, err := r.follow(ctx, run, secret)
	outage := r.outage(ctx, err, secret)
	if outage != nil {
		return 0, outage // nothing is wrong with the run
	}
	err = secret.Error(ctx, err)
	if reasonOf(err) == events.Conflict {
		r.events.Failure(before, err) // an Event if it lasts for minutes
		return 0, err
	}
	var failed error // what a person has to know
	if !before.Status.Phase.Terminal() {
		found.Message = secret.Text(ctx, found.Message)
		failed = r.enter(run, found, err)
	}
	wait := untilStart(before, run, found)
	if err == nil && wait > 0 {
		return wait, nil
	}
	if ctx.Err() != nil {
		return 0, ctx.Err() // the controller stops, and err may be of that
	}
	written, unwritten := r.record(ctx, before, run, found)
	if written && run.Status.Phase.Terminal() && !before.Status.Phase.Terminal() {
		r.reportEnd(ctx, run) // also if the API server did not keep a field
	}
	outage = r.outage(ctx, unwritten, secret)
	switch {
	case outage != nil:
		return 0, outage
	case unwritten != nil:
		unwritten = secret.Error(ctx, unwritten)
		r.events.Failure(before, unwritten)
		return 0, errors.Join(unwritten, err)
	case before.Status.Phase.Terminal():
		return found.After, err
	case run.Status.Phase.Terminal():
		return releaseDelay, nil
	}
	r.events.Failure(run, errors.Join(failed, err))
	switch {
	case err == nil:
		return r.afterOr(found, heartbeat), nil
	case run.Status.JobRef == nil && isUnanswered(err):
		return hangDelay, err
	}
	return 0, err
}

// follow takes the Job of a run as far as it can go now, and returns its state.
// What the cache says of a running run for ten minutes is checked with the API
// server: a watch may lose an event, and updatedAt must not certify a state
// that the controller has not looked at.
func (r *Reconciler) follow(
	ctx context.Context, run *v1alpha1.AgentRun, secret *redact.Attempt,
) (jobgc.Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	ref, found, err := r.jobs.Step(ctx, r.request(ctx, run, secret))
	run.Status.JobRef = ref
	if err != nil || !r.needsLook(run, found) {
		return found, err
	}
	found, err = jobgc.Inspect(ctx, r.jobsIn(ref.Namespace), *ref)
	run.Status.JobRef.Outcome = found.Outcome
	return found, err
}

// record writes the status of a run, if it changed. A stop of the controller
// waits for the answer, so that an end that is recorded has its Event.
func (r *Reconciler) record(
	ctx context.Context, before, run *v1alpha1.AgentRun, found jobgc.Observation,
) (written bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	facts := status.Facts{Progress: run.Status.Phase.Progress()}
	facts.StartedAt = found.StartedAt
	facts.FinishedAt = found.FinishedAt
	did, err := r.writer.Commit(ctx, before, run, facts)
	return did == status.Written, err
}

// reportEnd reports the recorded end of a run, and why it failed. A count or an
// Event of something that was not recorded would come again.
func (r *Reconciler) reportEnd(ctx context.Context, run *v1alpha1.AgentRun) {
	r.reported.Store(client.ObjectKeyFromObject(run), run.UID)
	failed := failureOf(run)
	r.events.Failure(run, failed)
	st := run.Status
	result := metrics.Success
	switch {
	case failed != nil:
		result = metrics.TerminalError
	case st.Phase == v1alpha1.Cancelled:
		result = metrics.Canceled
	}
	if st.Reason == reasonWorkflowJobMissing {
		r.runs.JobMissing()
	}
	took := time.Duration(-1) // it never started
	if st.StartedAt != nil && st.FinishedAt != nil {
		took = st.FinishedAt.Sub(st.StartedAt.Time)
	}
	r.runs.End(ctx, took, result)
	log.FromContext(ctx).Info("Run ended", "phase", st.Phase, "reason", st.Reason)
}

// outage returns the error of an API server that could not be reached, or was
// away a moment ago and refuses. Otherwise it returns nil. An Event and a
// condition of each run would only make its start harder. What lasts is
// recorded later.
func (r *Reconciler) outage(ctx context.Context, err error, secret *redact.Attempt) error {
	reason := reasonOf(err)
	_, isAnswer := errors.AsType[*apierrors.StatusError](err)
	if reason == events.Unavailable && !isAnswer {
		r.away.Store(time.Now().UnixNano())
		return err // of the network, which quotes no Secret
	}
	isStarting := time.Since(time.Unix(0, r.away.Load())) < startingTime
	if isStarting && (reason == events.Unavailable || reason == events.Forbidden) {
		return secret.Error(ctx, err)
	}
	return nil
}

// isUnreported reports whether the end of a run is new, this process has not
// reported it, and another one may have been killed before it did: the Job is
// not released, as the cache says without a request. Without a Job, an end may
// be reported by both.
func (r *Reconciler) isUnreported(ctx context.Context, run *v1alpha1.AgentRun) bool {
	st := run.Status
	if !st.Phase.Terminal() || st.UpdatedAt == nil || time.Since(st.UpdatedAt.Time) >= handOver {
		return false
	}
	uid, _ := r.reported.Load(client.ObjectKeyFromObject(run))
	if uid == run.UID {
		return false
	}
	if st.JobRef == nil {
		return true
	}
	job := new(batchv1.Job)
	err := r.Get(ctx, types.NamespacedName{Namespace: st.JobRef.Namespace, Name: st.JobRef.Name}, job)
	return err == nil && job.Spec.TTLSecondsAfterFinished == nil
}

// request is what package jobgc has to know of the run.
func (r *Reconciler) request(
	ctx context.Context, run *v1alpha1.AgentRun, secret *redact.Attempt,
) jobgc.Request {
	done := run.Status.Phase.Terminal()
	return jobgc.Request{
		Owner: run, Ref: run.Status.JobRef, Done: done, Suspend: &run.Spec.Suspend,
		Cancel: run.Status.Phase == v1alpha1.Cancelled || run.Spec.Cancel && !done,
		Job: func() (*batchv1.Job, error) {
			err := checkSecret(ctx, run, secret)
			if err != nil {
				return nil, err
			}
			return newJob(run)
		},
		Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			stored := new(v1alpha1.AgentRun)
			err := r.live.Get(ctx, client.ObjectKeyFromObject(run), stored)
			return stored, stored.Status.JobRef, stored.Status.Phase.Terminal(), err
		},
	}
}
