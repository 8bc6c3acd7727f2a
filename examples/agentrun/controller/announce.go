// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/metrics"
)

const (
	// eventWait is how long the release of a Job waits for the Event of its
	// run's failure at most. The API server may take no Event for hours.
	eventWait = 2 * time.Second

	// eventTime is how long a worker waits for the Event of a failure, and how
	// often it looks again later. An Event takes 15 to 60 ms.
	eventTime = 100 * time.Millisecond

	// eventPause is how long no worker waits for an Event after one has waited
	// in vain.
	eventPause = time.Second
)

// announce reports the recorded end of a run, and why it failed.
func (a *attempt) announce(ctx context.Context, failed error) {
	a.report(a.run, failed)
	st := a.run.Status
	result := metrics.Success
	switch {
	case failed != nil:
		result = metrics.TerminalError
	case st.Phase == v1alpha1.Cancelled:
		result = metrics.Canceled
	}
	if st.Reason == reasonWorkflowJobMissing {
		a.measured.JobMissing()
	}
	if st.StartedAt != nil && st.FinishedAt != nil {
		a.measured.End(ctx, st.FinishedAt.Sub(st.StartedAt.Time), result)
	}
	logr.FromContextOrDiscard(ctx).Info("Run ended", "phase", st.Phase, "reason", st.Reason)
}

// report reports the recorded failure of a run, or that it has none any more.
func (c *Controller) report(run *v1alpha1.AgentRun, failed error) {
	if failed != nil {
		c.announcing.Store(run.UID, time.Now())
	}
	c.recorder.Failure(run, failed)
}

// isAnnouncing reports whether the failure of a run was reported a moment ago,
// and its Event is not written yet. If the process is killed, the next one
// repeats the Event of a run whose Job is not released: see unannounced.
func (a *attempt) isAnnouncing() bool {
	reported, ok := a.announcing.Load(a.before.UID)
	if !ok {
		return false
	}
	at, _ := reported.(time.Time)
	if time.Since(at) < eventWait && a.recorder.HasPending(a.before) {
		return true
	}
	a.announcing.Delete(a.before.UID)
	return false
}

// awaitEvent waits for the Event of a run that has just failed. In the queue,
// the release of its Job would come behind all runs whose Jobs have changed.
// When many runs fail together, the recorder limits Events: the workers find
// out, and go on.
func (a *attempt) awaitEvent(ctx context.Context) {
	late := a.lateEvent.Load()
	if late != nil && time.Since(*late) < eventPause {
		return
	}
	written := func(context.Context) (bool, error) { return !a.isAnnouncing(), nil }
	err := wait.PollUntilContextTimeout(ctx, eventTime/10, eventTime, true, written)
	if err != nil {
		now := time.Now()
		a.lateEvent.Store(&now)
	}
}
