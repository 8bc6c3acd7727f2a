// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAReport_LivesOnceThroughAllPackages runs the service with exactly the
// documented role. A quota refuses the Job at first. Then the Job runs, the
// status has its times, and the Job is released. Each verb of the role is used,
// except three that this test cannot show.
//
//req:shows A1
func TestAReport_LivesOnceThroughAllPackages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		p := start(t, a)
		assert.Equal(t, "ok\n", p.get(t, "/readyz"))
		a.setFault(func(r request) (int, string) {
			if r.right() == "create batch/jobs" {
				return http.StatusForbidden, "exceeded quota: count/jobs.batch"
			}
			return 0, ""
		})
		a.put(t, monthly, newReport())
		time.Sleep(time.Minute)
		r := a.report(t)
		assert.Equal(t, Pending, r.Status.Phase)
		assert.Nil(t, r.Status.Job)
		require.Len(t, r.Status.Conditions, 1)
		assert.Equal(t, "Forbidden", r.Status.Conditions[0].Reason)
		assert.Contains(t, r.Status.Conditions[0].Message, "exceeded quota")
		assert.Contains(t, p.log.String(), "exceeded quota")
		warning := a.events(t)["Forbidden"]
		assert.Equal(t, corev1.EventTypeWarning, warning.Type)
		require.NotNil(t, warning.Series, "repeats are counted")

		a.setFault(nil)
		time.Sleep(5 * time.Minute) // the back-off
		assert.Equal(t, Pending, a.report(t).Status.Phase)
		assert.Equal(t, "JobCreated", a.report(t).Status.Conditions[0].Reason)
		assert.Contains(t, a.events(t), "Recovered")
		pod := a.job(t).Spec.Template.Spec
		assert.True(t, *pod.SecurityContext.RunAsNonRoot, "as the restricted pod security standard requires")
		assert.False(t, *pod.Containers[0].SecurityContext.AllowPrivilegeEscalation)
		began := metav1.NewTime(time.Now())
		a.setJob(t, func(s *batchv1.JobStatus) { s.StartTime = &began })
		assert.Equal(t, Running, a.report(t).Status.Phase)
		assert.Equal(t, "1", value(p.get(t, "/metrics"), `controller_run_active{controller="report"}`))
		time.Sleep(time.Hour)
		ended := time.Now()
		a.setJob(t, completed)
		r = a.report(t)
		assert.Equal(t, Succeeded, r.Status.Phase)
		assert.Equal(t, metav1.ConditionTrue, r.Status.Conditions[0].Status)
		assert.Equal(t, int64(1), r.Status.ObservedGeneration)
		assert.Equal(t, began.Unix(), r.Status.StartedAt.Unix())
		assert.Equal(t, ended.Unix(), r.Status.FinishedAt.Unix())
		require.NotNil(t, a.job(t).Spec.TTLSecondsAfterFinished, "its result is recorded: it may go")
		assert.GreaterOrEqual(t, *a.job(t).Spec.TTLSecondsAfterFinished, int32(600))

		assertMeasured(t, p.get(t, "/metrics"))
		version := a.report(t).ResourceVersion
		time.Sleep(time.Hour)
		assert.Equal(t, version, a.report(t).ResourceVersion, "nothing is left to write")
		require.NoError(t, p.end())

		assert.Equal(t, []string{
			"create /events", "patch /events", // where events.k8s.io/v1 is not served
			"update service.example.com/reports/finalizers", // an admission plugin asks for it
		}, a.unused(), "delete the others from role.yaml")
	})
}

// assertMeasured checks the metrics after one Report has succeeded.
func assertMeasured(t *testing.T, page string) {
	t.Helper()
	for series, want := range map[string]string{
		`controller_runs_total{controller="report",result="success"}`:          "1",
		`controller_run_active{controller="report"}`:                           "0",
		`controller_leader{lease="reports"}`:                                   "1",
		`controller_status_writes_total{controller="report",result="written"}`: "4", // refused, created, running, succeeded
		`controller_missing_jobs_total{controller="report"}`:                   "0",
	} {
		assert.Equal(t, want, value(page, series), series)
	}
	for _, series := range []string{
		`controller_events_total{controller="report",result="emitted"}`,
		`controller_client_requests_total{code="2xx",group="batch",resource="jobs",verb="create"}`,
		`controller_queue_adds_total{controller="report"}`,
	} {
		assert.NotContains(t, []string{"", "0"}, value(page, series), series)
	}
}

// TestAJobThatIsDeletedByHand_IsReportedOnce: also by the replica that leads
// after a restart.
func TestAJobThatIsDeletedByHand_IsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		p := start(t, a)
		a.put(t, monthly, newReport())
		time.Sleep(time.Second)
		a.remove(t, "batch/default/jobs/"+a.report(t).Status.Job.Name)
		time.Sleep(time.Minute)
		assert.Equal(t, Failed, a.report(t).Status.Phase)
		assert.Equal(t, "WorkflowJobMissing", a.report(t).Status.Conditions[0].Reason)
		assert.Equal(t, "1", value(p.get(t, "/metrics"), `controller_missing_jobs_total{controller="report"}`))
		require.NoError(t, p.end())

		ended := a.report(t).Status.FinishedAt
		p = start(t, a)
		time.Sleep(time.Minute)
		assert.Equal(t, ended, a.report(t).Status.FinishedAt)
		assert.Len(t, a.events(t), 1)
		assert.Contains(t, a.events(t), "WorkflowJobMissing")
		assert.Equal(t, "0", value(p.get(t, "/metrics"), `controller_missing_jobs_total{controller="report"}`))
		require.NoError(t, p.end())
	})
}

// TestADeletedJob_KeepsItsResult: a program deletes finished Jobs while the
// service is down. The Job goes when its result is recorded.
func TestADeletedJob_KeepsItsResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		p := start(t, a)
		a.put(t, monthly, newReport())
		time.Sleep(time.Second)
		require.NoError(t, p.end())
		a.setJob(t, completed)
		a.delete(t, "batch/default/jobs/"+a.report(t).Status.Job.Name)

		p = start(t, a)
		time.Sleep(time.Minute)
		assert.Equal(t, Succeeded, a.report(t).Status.Phase)
		assert.False(t, a.read(t, "batch/default/jobs/"+a.report(t).Status.Job.Name, new(batchv1.Job)))
		require.NoError(t, p.end())
	})
}

// TestAJobOfADeletedReport_GoesWithIt although nothing records its result.
func TestAJobOfADeletedReport_GoesWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		p := start(t, a)
		a.put(t, monthly, newReport())
		time.Sleep(time.Second)
		job := "batch/default/jobs/" + a.report(t).Status.Job.Name
		a.remove(t, monthly)
		a.delete(t, job) // by the garbage collector
		assert.True(t, a.read(t, job, new(batchv1.Job)), "it has a finalizer")
		time.Sleep(2 * time.Minute)
		assert.False(t, a.read(t, job, new(batchv1.Job)))
		require.NoError(t, p.end())
	})
}

// TestAStop_WritesTheLastEvents: a reconcile fails and the service stops. The
// next replica leads when the lease is over, and goes on with the same Job.
func TestAStop_WritesTheLastEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		first := start(t, a)
		second := start(t, a)
		a.put(t, monthly, newReport())
		time.Sleep(time.Second)
		job := a.job(t)
		a.setFault(func(r request) (int, string) {
			switch {
			case r.group == "events.k8s.io":
				return http.StatusTooManyRequests, "later"
			case r.right() == "patch service.example.com/reports/status":
				return http.StatusForbidden, "not now"
			}
			return 0, ""
		})
		now := metav1.Now()
		a.setJob(t, func(s *batchv1.JobStatus) { s.StartTime = &now })
		assert.Empty(t, a.events(t))
		a.setFault(nil)
		require.NoError(t, first.end())
		assert.Contains(t, a.events(t), "Forbidden", "it is written after the last reconcile")
		time.Sleep(time.Minute)
		assert.Equal(t, Running, a.report(t).Status.Phase)
		assert.Equal(t, job.UID, a.job(t).UID)
		require.NoError(t, second.end())
	})
}

func TestALostLease_EndsTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		p := start(t, a)
		a.setFault(func(r request) (int, string) {
			if r.resource == "leases" {
				return http.StatusForbidden, "not now"
			}
			return 0, ""
		})
		require.ErrorContains(t, <-p.ended, "the lease was not renewed in time")
		p.stop()
	})
}

// TestAWatchThatHangs_BeginsAgain: the connection stays open, and no change
// comes. The age of the cache shows it until the watch ends.
func TestAWatchThatHangs_BeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		p := start(t, a)
		a.mu.Lock()
		a.hang("reports")
		a.mu.Unlock()
		a.put(t, monthly, newReport())
		_ = p.get(t, "/metrics")
		time.Sleep(5 * time.Minute)
		assert.Nil(t, a.report(t).Status.Job)
		assert.Equal(t, "300", value(p.get(t, "/metrics"), `controller_cache_age_seconds{resource="reports"}`))
		time.Sleep(7 * time.Minute)
		assert.NotNil(t, a.report(t).Status.Job)
		require.NoError(t, p.end())
	})
}

// TestALateCache_IsNoFailure: from the creation of the Job on, the cache gets
// no change of the Report. The controller tries again until it does.
func TestALateCache_IsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		p := start(t, a)
		a.setFault(func(r request) (int, string) {
			if r.right() == "create batch/jobs" {
				a.hang("reports")
			}
			return 0, ""
		})
		a.put(t, monthly, newReport())
		time.Sleep(time.Second)
		now := metav1.Now()
		a.setJob(t, func(s *batchv1.JobStatus) { s.StartTime = &now })
		time.Sleep(4 * time.Minute) // after five the Writer would believe the copy
		assert.Equal(t, Pending, a.report(t).Status.Phase)
		assert.NotEqual(t, "0", value(p.get(t, "/metrics"), `controller_status_writes_total{controller="report",result="superseded"}`))
		assert.NotContains(t, p.log.String(), "Reconcile failed")
		time.Sleep(8 * time.Minute)
		assert.Equal(t, Running, a.report(t).Status.Phase, "the watch has begun again")
		require.NoError(t, p.end())
	})
}

// TestAConflictThatLasts_IsShown: a webhook answers 409 to each creation of a
// Job. The queue backs off, and an Event and the condition say why.
func TestAConflictThatLasts_IsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		p := start(t, a)
		tries := 0
		a.setFault(func(r request) (int, string) {
			if r.right() == "create batch/jobs" {
				tries++
				return http.StatusConflict, "the quota is being counted"
			}
			return 0, ""
		})
		a.put(t, monthly, newReport())
		time.Sleep(10 * time.Minute)
		assert.Less(t, tries, 30)
		assert.Contains(t, a.report(t).Status.Conditions[0].Message, "the quota is being counted")
		assert.Contains(t, a.events(t), "Conflict")
		assert.Contains(t, p.log.String(), "the quota is being counted")
		require.NoError(t, p.end())
	})
}

// TestAnEndThatIsWrittenInPart_IsReported: the schema of the CRD has no
// finishedAt, so that Commit writes the rest and returns an error.
func TestAnEndThatIsWrittenInPart_IsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.prune = func(o object) { unstructured.RemoveNestedField(o, "status", "finishedAt") }
		p := start(t, a)
		a.put(t, monthly, newReport())
		time.Sleep(time.Second)
		a.setJob(t, func(s *batchv1.JobStatus) {
			s.Conditions = []batchv1.JobCondition{{
				Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "DeadlineExceeded", LastTransitionTime: metav1.Now(),
			}}
		})
		time.Sleep(time.Minute)
		assert.Equal(t, Failed, a.report(t).Status.Phase)
		assert.Contains(t, a.events(t), "JobFailed")
		require.NoError(t, p.end())
	})
}

// TestNoSecretIsShown: the API server quotes a password in an error.
func TestNoSecretIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		p := start(t, a)
		a.setFault(func(r request) (int, string) {
			if r.right() == "create batch/jobs" {
				return http.StatusUnprocessableEntity, "invalid value DB_PASSWORD=s3cr3t-0123"
			}
			return 0, ""
		})
		a.put(t, monthly, newReport())
		time.Sleep(time.Minute)
		assert.Equal(t, Failed, a.report(t).Status.Phase, "a retry does not help")
		assert.Contains(t, a.report(t).Status.Conditions[0].Message, "DB_PASSWORD=[redacted]")
		assert.Contains(t, a.events(t)["InvalidSpec"].Note, "DB_PASSWORD=[redacted]")
		require.NoError(t, p.end())
		assert.Contains(t, p.log.String(), `"msg":"Reconcile failed"`)
		for _, o := range a.objects {
			text, err := (&unstructured.Unstructured{Object: o}).MarshalJSON()
			require.NoError(t, err)
			assert.NotContains(t, string(text), "s3cr3t")
		}
		assert.NotContains(t, p.log.String(), "s3cr3t")
	})
}
