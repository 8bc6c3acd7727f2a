// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
)

// begin creates a run whose Job runs, and which is recorded so.
func begin(t *testing.T, run *v1alpha1.AgentRun) *rig {
	t.Helper()
	g := newRig(t, run)
	g.must(t, run)
	g.change(t, run, starts)
	g.must(t, run)
	require.Equal(t, v1alpha1.Running, run.Status.Phase)
	return g
}

// TestReconcile_TakesARunToItsEnd with two writes of the status: that it runs,
// and how it ended. While the Job is new there is nothing to say.
func TestReconcile_TakesARunToItsEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   batchv1.JobConditionType
		phase  v1alpha1.Phase
		reason string
		events []string
	}{
		"Succeeds": {batchv1.JobComplete, v1alpha1.Succeeded, reasonSucceeded, nil},
		"Fails":    {batchv1.JobFailed, v1alpha1.Failed, reasonJobFailed, []string{reasonJobFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newRun("nightly")
				g := newRig(t, run)
				after := g.must(t, run)
				assert.LessOrEqual(t, after, usualStart)
				require.NotNil(t, g.job(t, run))
				assert.Zero(t, g.writes, "the Job is Pending")
				g.change(t, run, starts)
				g.must(t, run)
				assert.Equal(t, 1, g.writes)
				assert.Equal(t, v1alpha1.Running, run.Status.Phase)
				assert.Equal(t, int64(3), run.Status.ObservedGeneration)
				assert.NotNil(t, run.Status.StartedAt)

				time.Sleep(time.Minute)
				g.change(t, run, ends(tc.kind, "it said so"))
				after = g.must(t, run)
				assert.Equal(t, releaseDelay, after, "the release comes next")
				assert.Equal(t, 2, g.writes)
				assert.Equal(t, tc.phase, run.Status.Phase)
				assert.Equal(t, tc.reason, run.Status.Reason)
				assert.NotNil(t, run.Status.FinishedAt)
				assert.Equal(t, tc.phase == v1alpha1.Succeeded, apimeta.IsStatusConditionTrue(run.Status.Conditions, "Ready"))
				assert.Equal(t, tc.phase == v1alpha1.Failed, apimeta.IsStatusConditionTrue(run.Status.Conditions, "Degraded"))
				assert.False(t, apimeta.IsStatusConditionTrue(run.Status.Conditions, "Progressing"))

				for range 3 {
					g.must(t, run)
				}
				assert.ElementsMatch(t, tc.events, g.recorder.Reasons(), "an end is reported once")
				assert.LessOrEqual(t, g.writes, 3, "the release may be recorded")
				assert.Contains(t, g.metrics(t), "controller_runs_total{")
			})
		})
	}
}

// TestReconcile_RecordsAJobThatDoesNotStart: another client may delete a Job
// that is not recorded, and then it would run again.
func TestReconcile_RecordsAJobThatDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly")
		g := newRig(t, run)
		time.Sleep(g.must(t, run))
		g.must(t, run)
		assert.Equal(t, 1, g.writes)
		assert.NotNil(t, run.Status.JobRef)
		assert.Equal(t, reasonWaiting, run.Status.Reason)
	})
}

// TestReconcile_EndsALostRun: with a Warning and a count.
//
//req:shows J3
func TestReconcile_EndsALostRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly")
		g := begin(t, run)
		require.NoError(t, g.cluster.BatchV1().Jobs("ns").Delete(t.Context(), run.Status.JobRef.Name, metav1.DeleteOptions{}))
		for range 5 {
			time.Sleep(g.must(t, run))
		}
		assert.Equal(t, v1alpha1.Failed, run.Status.Phase)
		assert.Equal(t, reasonWorkflowJobMissing, run.Status.Reason)
		assert.Equal(t, []string{reasonWorkflowJobMissing}, g.recorder.Reasons())
		assert.Contains(t, g.metrics(t), "controller_missing_jobs_total{controller=\"agentrun\"} 1")
		assert.Nil(t, g.job(t, run), "the work does not run again")
	})
}

func TestReconcile_CancelsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly")
		g := begin(t, run)
		run.Spec.Cancel = true
		require.NoError(t, g.Update(t.Context(), run))
		for range 3 {
			time.Sleep(g.must(t, run))
		}
		assert.Equal(t, v1alpha1.Cancelled, run.Status.Phase)
		assert.Nil(t, g.job(t, run), "its Job is deleted once that is recorded")
		assert.Empty(t, g.recorder.Reasons())
	})
}

// TestReconcile_RefusesAPrompt without a request to the API server.
//
//req:shows S4
func TestReconcile_RefusesAPrompt(t *testing.T) {
	run := newRun("nightly")
	run.Spec.Parameters = map[string]string{"prompt": "my private words"}
	g := newRig(t, run)
	g.must(t, run)
	assert.Equal(t, v1alpha1.Failed, run.Status.Phase)
	assert.Equal(t, events.InvalidSpec, run.Status.Reason)
	assert.Contains(t, run.Status.Message, "spec.parameters[prompt]", "the message names the field")
	assert.NotContains(t, run.Status.Message, "private", "and not its value")
	assert.Equal(t, []string{events.InvalidSpec}, g.recorder.Reasons())
	assert.Nil(t, g.job(t, run))
	g.must(t, run)
	assert.Len(t, g.recorder.Reasons(), 1)
}

// TestReconcile_RecordsWhatItCannotDo: a condition, an Event, and an error that
// controller-runtime logs and tries again, less and less often.
//
//req:shows E2
func TestReconcile_RecordsWhatItCannotDo(t *testing.T) {
	quota := apierrors.NewForbidden(batchv1.Resource("jobs"), "run-1", errors.New("exceeded quota: jobs"))
	for name, tc := range map[string]struct {
		reason string
		err    error
		after  time.Duration // zero: an error, with a longer wait each time
		want   string
	}{
		"Quota":    {"A namespace over its quota is tried again by the back-off.", quota, 0, events.Forbidden},
		"Internal": {"What got a 5xx may hang in a webhook.", apierrors.NewInternalError(errors.New("webhook")), hangDelay, events.Unavailable},
		"Timeout":  {"What got no answer may hang in a webhook.", apierrors.NewTimeoutError("webhook", 1), hangDelay, events.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			run := newRun("nightly")
			g := newRig(t, run)
			g.cluster.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
			after, err := g.reconcile(t, run)
			assert.Equal(t, tc.after, after, tc.reason)
			assert.Equal(t, tc.after == 0, err != nil, tc.reason)
			assert.Equal(t, v1alpha1.Pending, run.Status.Phase)
			assert.Equal(t, tc.want, run.Status.Reason)
			assert.True(t, apimeta.IsStatusConditionTrue(run.Status.Conditions, "Degraded"))
			assert.Equal(t, []string{tc.want}, g.recorder.Reasons())
			g.cluster.ReactionChain = g.cluster.ReactionChain[1:]
			g.must(t, run)
			assert.NotNil(t, g.job(t, run), "it goes on")
		})
	}
}

// TestReconcile_RecordsNoOutage of the API server, and not what it refuses when
// it has just started: nothing is wrong with the run.
func TestReconcile_RecordsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &url.Error{Op: "Post", URL: "https://10.0.0.1", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
		refused := apierrors.NewForbidden(batchv1.Resource("jobs"), "run-1", errors.New("RBAC: not found"))
		answer := error(away)
		run := newRun("nightly")
		g := newRig(t, run)
		g.cluster.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
		_, err := g.reconcile(t, run)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		answer = refused
		_, err = g.reconcile(t, run)
		require.ErrorIs(t, err, refused)
		assert.Zero(t, g.writes)
		time.Sleep(startingTime)
		_, err = g.reconcile(t, run)
		require.ErrorIs(t, err, refused)
		assert.Equal(t, []string{events.Forbidden}, g.recorder.Reasons(), "it lasts")

		g.recorder.Reset()
		run.Spec.Parameters = map[string]string{"prompt": "hello"}
		require.NoError(t, g.Update(t.Context(), run))
		g.refuse = away
		_, err = g.reconcile(t, run)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.Empty(t, g.recorder.Reasons())
		g.must(t, run)
		assert.Equal(t, []string{events.InvalidSpec}, g.recorder.Reasons())
	})
}

// TestReconcile_ReportsAgain the failure that another process recorded, and may
// have been killed before its Event was written.
func TestReconcile_ReportsAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		pause  time.Duration
		want   []string
	}{
		"SoonAfter": {"The Event may be lost.", 20 * time.Second, []string{reasonJobFailed}},
		"LongAfter": {"A Job that is kept has no TTL either.", handOver, nil},
		"AtOnce":    {"It may have been killed after the write.", 0, []string{reasonJobFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newRun("nightly")
				g := begin(t, run)
				g.change(t, run, ends(batchv1.JobFailed, "exit 1"))
				g.must(t, run)
				require.Equal(t, v1alpha1.Failed, run.Status.Phase)

				g.reported.Clear() // another process
				g.recorder.Reset()
				keep := jobgc.Options{Retention: jobgc.Retention{FailedTTL: time.Hour}}
				guard, err := jobgc.New(g.cluster.BatchV1().Jobs, nil, keep)
				require.NoError(t, err)
				g.jobs = guard
				time.Sleep(tc.pause)
				g.must(t, run)
				assert.ElementsMatch(t, tc.want, g.recorder.Reasons(), tc.reason)
				if tc.want != nil {
					assert.Nil(t, g.job(t, run).Spec.TTLSecondsAfterFinished, "a second kill may lose that Event too")
				}
				for range 2 {
					g.must(t, run)
				}
				assert.Len(t, g.recorder.Reasons(), len(tc.want))
				assert.NotNil(t, g.job(t, run).Spec.TTLSecondsAfterFinished)

				g.reported.Clear() // a third process
				g.must(t, run)
				assert.Len(t, g.recorder.Reasons(), len(tc.want), "a released Job says that the end was reported")
			})
		})
	}
}

// TestReconcile_ForgetsADeletedRun whose end it has reported.
func TestReconcile_ForgetsADeletedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly")
		g := begin(t, run)
		g.change(t, run, ends(batchv1.JobFailed, "exit 1"))
		g.must(t, run)
		_, isReported := g.reported.Load(client.ObjectKeyFromObject(run))
		require.True(t, isReported)
		require.NoError(t, g.Delete(t.Context(), run))
		_, err := g.Reconcile(t.Context(), requestOf(run))
		require.NoError(t, err)
		_, isReported = g.reported.Load(client.ObjectKeyFromObject(run))
		assert.False(t, isReported)
	})
}

// TestReconcile_ReportsAnEndWithoutAnAnswer once, by the next attempt.
func TestReconcile_ReportsAnEndWithoutAnAnswer(t *testing.T) {
	lost := &url.Error{Op: "Patch", URL: "https://10.0.0.1", Err: syscall.ECONNRESET}
	for name, tc := range map[string]struct {
		kind     batchv1.JobConditionType
		isStored bool
		want     []string
	}{
		"Failed":            {batchv1.JobFailed, true, []string{reasonJobFailed}},
		"Succeeded":         {batchv1.JobComplete, true, nil},
		"FailedIsNotStored": {batchv1.JobFailed, false, []string{reasonJobFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newRun("nightly")
				g := begin(t, run)
				g.change(t, run, ends(tc.kind, "exit 1"))
				if tc.isStored {
					g.lose = lost
				} else {
					g.refuse = lost
				}
				_, err := g.reconcile(t, run)
				require.ErrorIs(t, err, syscall.ECONNRESET)
				assert.Equal(t, tc.isStored, run.Status.Phase.Terminal())
				for range 3 {
					g.must(t, run)
				}
				assert.ElementsMatch(t, tc.want, g.recorder.Reasons())
				assert.Regexp(t, `controller_runs_total{.*} 1\n`, g.metrics(t))
			})
		})
	}
}

// TestReconcile_BelievesNoRefusedStatus: the user's spec is not at fault.
func TestReconcile_BelievesNoRefusedStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly")
		g := begin(t, run)
		g.change(t, run, ends(batchv1.JobComplete, ""))
		g.refuse = apierrors.NewInvalid(v1alpha1.GroupVersion().WithKind("AgentRun").GroupKind(), "nightly", nil)
		_, err := g.reconcile(t, run)
		require.Error(t, err)
		reason, terminal := events.Classify(err)
		assert.Equal(t, "StatusRefused", reason)
		assert.False(t, terminal)
		assert.Equal(t, []string{"StatusRefused"}, g.recorder.Reasons())
		g.must(t, run)
		assert.Equal(t, v1alpha1.Succeeded, run.Status.Phase)
	})
}

// TestReconcile_ReportsNothingThatIsNotRecorded: the next attempt would report
// it again.
func TestReconcile_ReportsNothingThatIsNotRecorded(t *testing.T) {
	for name, stops := range map[string]bool{"NoAnswer": false, "TheControllerStops": true} {
		t.Run(name, func(t *testing.T) {
			run := newRun("nightly")
			run.Spec.Parameters = map[string]string{"prompt": "hello"}
			g := newRig(t, run)
			g.refuse = apierrors.NewTimeoutError("etcd", 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			want := []string{events.Timeout}
			if stops {
				cancel()
				want = nil
			}
			_, err := g.Reconcile(ctx, requestOf(run))
			require.Error(t, err)
			assert.ElementsMatch(t, want, g.recorder.Reasons())
			assert.Zero(t, g.writes)
			g.refuse = nil
			g.must(t, run)
			assert.Equal(t, append(want, events.InvalidSpec), g.recorder.Reasons())
		})
	}
}

// TestReconcile_LooksBeforeItsHeartbeat: the cache has lost an event, so that
// its Job still runs.
//
//req:shows S2
func TestReconcile_LooksBeforeItsHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly")
		g := begin(t, run)
		stale := g.job(t, run)
		g.change(t, run, ends(batchv1.JobComplete, ""))
		g.jobs = guardOf(t, g.cluster, stale)
		time.Sleep(heartbeat - time.Minute)
		writes := g.writes
		g.must(t, run)
		assert.Equal(t, v1alpha1.Running, run.Status.Phase, "the cache is believed")
		assert.Equal(t, writes, g.writes, "no heartbeat yet")
		time.Sleep(time.Minute)
		g.must(t, run)
		assert.Equal(t, v1alpha1.Succeeded, run.Status.Phase)
		assert.Equal(t, "Succeeded", string(run.Status.JobRef.Outcome))
	})
}

// TestReconcile_BeatsWhileTheJobRuns: one write in ten minutes.
func TestReconcile_BeatsWhileTheJobRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly")
		g := begin(t, run)
		g.jobs = guardOf(t, g.cluster, g.job(t, run))
		writes := g.writes
		for range 3 {
			after := g.must(t, run)
			assert.Equal(t, writes, g.writes)
			assert.Equal(t, heartbeat, after)
			before := run.Status.UpdatedAt
			time.Sleep(after)
			g.must(t, run)
			writes++
			assert.Equal(t, writes, g.writes)
			assert.True(t, before.Before(run.Status.UpdatedAt))
		}
	})
}

// TestReconcile_SaysThatAJobHasNoPods after its time, and not that of a
// cache that is late.
func TestReconcile_SaysThatAJobHasNoPods(t *testing.T) {
	for name, late := range map[string]bool{"NoPods": false, "TheCacheIsLate": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newRun("nightly")
				g := newRig(t, run)
				g.must(t, run)
				g.change(t, run, withoutPods)
				g.must(t, run)
				require.Equal(t, reasonRunning, run.Status.Reason)
				g.jobs = guardOf(t, g.cluster, g.job(t, run))
				if late {
					g.change(t, run, starts)
				}
				after := g.must(t, run)
				assert.Equal(t, g.noPodsAfter, after)
				time.Sleep(after)
				g.must(t, run)
				assert.Equal(t, v1alpha1.Running, run.Status.Phase)
				if late {
					assert.Equal(t, reasonRunning, run.Status.Reason)
					return
				}
				assert.Equal(t, reasonNoPods, run.Status.Reason)
				assert.Contains(t, run.Status.Message, "kubectl describe job")
				assert.Equal(t, []string{reasonNoPods}, g.recorder.Reasons())
			})
		})
	}
}

// TestReconcile_QuotesNoSecret: in a status, an Event or an error.
//
//req:shows S4
func TestReconcile_QuotesNoSecret(t *testing.T) {
	const value = "canary-5f1d7c2e9b"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{"token": []byte(value)}}
	for name, tc := range map[string]struct {
		reason string
		unread error
		want   string
	}{
		"Read":       {"The value is masked.", nil, "Job run-uid-nightly failed: BackoffLimitExceeded: it says " + redact.Mask},
		"Unreadable": {"A value that is not known cannot be masked.", errors.New("the network is down"), "Job run-uid-nightly failed: BackoffLimitExceeded: " + redact.Withheld},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newRun("nightly")
				run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "s", Key: "token"}
				g := newRig(t, run, secret.DeepCopy())
				g.must(t, run)
				g.change(t, run, starts)
				g.must(t, run)
				g.secrets = new(redact.SecretValues) // the process has started again
				g.unread = tc.unread
				g.change(t, run, ends(batchv1.JobFailed, "it says "+value))
				g.must(t, run)
				assert.Equal(t, tc.want, run.Status.Message, tc.reason)
				for _, e := range g.recorder.Entries() {
					assert.NotContains(t, e.Note, value)
				}
				reads := g.reads
				g.must(t, run)
				assert.Equal(t, reads, g.reads, "a run that has ended needs no Secret")
			})
		})
	}
}

// TestReconcile_MasksWhatAStartingServerRefuses: the answer may be of a webhook.
func TestReconcile_MasksWhatAStartingServerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const value = "canary-5f1d7c2e9b"
		run := newRun("nightly")
		run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "s", Key: "token"}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{"token": []byte(value)}}
		g := newRig(t, run, secret)
		g.must(t, run)
		g.change(t, run, starts)
		g.refuse = &url.Error{Op: "Patch", URL: "https://10.0.0.1", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
		_, err := g.reconcile(t, run)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		g.refuse = apierrors.NewForbidden(v1alpha1.GroupVersion().WithResource("agentruns").GroupResource(), "nightly", errors.New("it says "+value))
		_, err = g.reconcile(t, run)
		require.ErrorContains(t, err, "it says "+redact.Mask)
	})
}

func TestReconcile_WaitsForItsSecret(t *testing.T) {
	run := newRun("nightly")
	run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "s", Key: "token"}
	g := newRig(t, run)
	for _, step := range []struct {
		data map[string][]byte
		want string
	}{
		{nil, "Secret \"s\" does not exist yet"},
		{map[string][]byte{"other": []byte("x")}, "Secret \"s\" has no key \"token\" yet"},
	} {
		if step.data != nil {
			require.NoError(t, g.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: step.data}))
		}
		_, err := g.reconcile(t, run)
		require.ErrorContains(t, err, step.want)
		assert.Equal(t, v1alpha1.Pending, run.Status.Phase)
		assert.Equal(t, events.MissingSecret, run.Status.Reason)
		assert.Contains(t, run.Status.Message, step.want)
	}
	assert.Nil(t, g.job(t, run))
}
