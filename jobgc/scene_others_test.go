// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// What people and other controllers do in a scene.

// jobFor is the name of the Job that a command is about. Without a name in the
// command it is the owner's Job.
func (s *scene) jobFor(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	name := argText(t, d, "name")
	if name != "" {
		return name
	}
	for _, name := range s.named() {
		controller := metav1.GetControllerOfNoCopy(s.jobs[name])
		if controller != nil && (s.owner == nil || controller.UID == s.owner.UID) {
			return name
		}
	}
	require.Fail(t, "no Job", d.Pos)
	return ""
}

// changeJob is what the Job controller, a queue or a person does with a Job.
func (s *scene) changeJob(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	name := s.jobFor(t, d)
	uid := s.jobs[name].UID
	now := time.Now()
	act := word(t, d, "start", "finish", "fail", "announce", "suspend", "resume", "delete")
	if act == "delete" {
		s.taken[uid] = true
		s.deleteJob(name)
	} else {
		s.change(name, func(job *batchv1.Job) { s.work(job, act, now) })
		s.observe()
	}
	if s.jobs[name] == nil {
		s.say("%s is gone", uid)
		return
	}
	s.say("%s", shownJob(s.jobs[name]))
}

func (s *scene) work(job *batchv1.Job, act string, now time.Time) {
	is := func(kinds ...batchv1.JobConditionType) {
		for _, kind := range kinds {
			job.Status.Conditions = append(job.Status.Conditions, holds(kind, now))
		}
	}
	switch act {
	case "start":
		job.Status.StartTime = ptr.To(metav1.NewTime(now))
	case "finish":
		s.ended[job.UID] = jobgc.Succeeded
		is(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	case "fail":
		s.ended[job.UID] = jobgc.Failed
		is(batchv1.JobFailureTarget, batchv1.JobFailed)
	case "announce":
		s.ended[job.UID] = jobgc.Succeeded
		is(batchv1.JobSuccessCriteriaMet)
	case "suspend":
		job.Spec.Suspend = ptr.To(true)
		is(batchv1.JobSuspended)
	default: // resume
		job.Spec.Suspend = ptr.To(false)
		job.Status.Conditions = nil
	}
}

// changeOwner is what a person does with the owner.
func (s *scene) changeOwner(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	act := word(t, d, "cancel", "suspend", "resume", "edit", "end", "terminate", "delete", "recreate")
	switch act {
	case "cancel":
		s.edit(func(o *sceneOwner) { o.cancel = true })
	case "suspend":
		s.edit(func(o *sceneOwner) { o.suspend = ptr.To(true) })
	case "resume":
		s.edit(func(o *sceneOwner) { o.suspend = ptr.To(false) })
	case "edit":
		s.edit(func(*sceneOwner) {})
	case "end":
		s.edit(func(o *sceneOwner) { o.end = "TimedOut" })
	case "terminate":
		s.edit(func(o *sceneOwner) { o.DeletionTimestamp = ptr.To(metav1.Now()) })
	case "delete":
		s.putOwner(nil)
	case "recreate":
		s.putOwner(&sceneOwner{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "2"}})
	}
}

// changeServer is what happens to the store.
func (s *scene) changeServer(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "put":
		s.putJob(t, d)
	case "sweep":
		s.sweep(t, d)
	case "gc":
		s.say("the garbage collector deletes %s", shownUIDs(s.collect()))
	case "arrive":
		require.NotEmpty(t, s.late, "%s: no request is late", d.Pos)
		s.late[0]()
		s.late = s.late[1:]
		s.show()
	default:
		require.Fail(t, "unknown command", "%s: %s", d.Pos, d.Cmd)
	}
}

// putJob stores a Job that Step has not created.
func (s *scene) putJob(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	s.uids++
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: argText(t, d, "name"), UID: types.UID("old-" + string(rune('0'+s.uids))), CreationTimestamp: metav1.Now(),
	}}
	switch argText(t, d, "of") {
	case "none":
	case "other":
		job.OwnerReferences = []metav1.OwnerReference{ownerRef("other", "9")}
	case "earlier":
		job.OwnerReferences = []metav1.OwnerReference{ownerRef("run", "0")}
	default:
		job.OwnerReferences = []metav1.OwnerReference{ownerRef("run", s.owner.UID)}
	}
	if d.HasArg("ttl") {
		job.Spec.TTLSecondsAfterFinished = ptr.To(int32(argTime(t, d, "ttl", 0) / time.Second))
	}
	s.put(job)
	s.observe()
	s.say("%s", shownJob(job))
}

// sweep releases the held Jobs whose owner is gone.
func (s *scene) sweep(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	p := s.process(d)
	p.sync()
	p.faults = map[string]string{}
	cached := func(context.Context, string, metav1.OwnerReference) (metav1.Object, error) {
		if p.copied == nil {
			return nil, apierrors.NewNotFound(ownerResource, "run")
		}
		return p.copied, nil
	}
	stored := func(ctx context.Context, _ string, _ metav1.OwnerReference) (metav1.Object, error) {
		return ask(ctx, p, "owner", "read owner", p.readOwner, shownOwner)
	}
	released, err := p.guard.ReleaseOrphans(t.Context(), cached, stored)
	require.NoError(t, err)
	s.say("released %d", released)
	s.show()
}
