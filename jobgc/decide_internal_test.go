// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var (
	decidedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	created   = Ref{Name: "run-1", UID: "a"}
	ended     = Ref{Name: "run-1", UID: "a", Outcome: Succeeded}
)

// seenJob is what the cache shows of a Job that Step has created.
func seenJob(edits ...func(*batchv1.Job)) Observation {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "run-1", UID: "a", Annotations: map[string]string{annotation: "x"}}}
	for _, edit := range edits {
		edit(job)
	}
	return StateOf(job)
}

func complete(job *batchv1.Job) {
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(decidedAt)}}
}

func deleting(job *batchv1.Job)  { job.DeletionTimestamp = ptr.To(metav1.NewTime(decidedAt)) }
func suspended(job *batchv1.Job) { job.Spec.Suspend = ptr.To(true) }
func held(job *batchv1.Job)      { job.Finalizers = []string{resultFinalize} }
func stripped(job *batchv1.Job)  { job.Annotations = nil }
func week(job *batchv1.Job)      { job.Spec.TTLSecondsAfterFinished = ptr.To[int32](604800) }
func letGo(job *batchv1.Job)     { job.Annotations[releasedAnnotation] = "t" }

func TestDecide(t *testing.T) {
	ten := Retention{SucceededTTL: 10 * time.Minute}
	live := func(ref Ref) *stored { return &stored{exists: true, ref: ref} }
	none := Observation{State: NotCreated}
	missing := Observation{State: Missing, Source: sourceLiveRead}
	cases := map[string]struct {
		reason string
		view   view
		want   action
	}{
		"ReadFirst":           {"A copy may be stale.", view{found: none}, actReadOwner},
		"Create":              {"The stored owner wants a Job and has none.", view{found: none, stored: live(Ref{})}, actCreate},
		"OwnerGone":           {"An owner that is gone gets no Job.", view{found: none, stored: &stored{}}, actWait},
		"OwnerDeleting":       {"An owner that is being deleted gets no Job.", view{found: none, stored: &stored{exists: true, deleting: true}}, actWait},
		"OwnerDone":           {"A finished owner gets no Job.", view{found: none, stored: &stored{exists: true, done: true}}, actWait},
		"OwnerHasJob":         {"The caller's copy is stale.", view{found: none, stored: live(created)}, actWait},
		"OwnerHasIntent":      {"The stored Ref names another Job.", view{found: none, stored: live(Ref{Name: "x"})}, actWait},
		"SameIntent":          {"An older version wrote the name.", view{ref: Ref{Name: "x"}, found: none, stored: live(Ref{Name: "x"})}, actCreate},
		"DoneCopy":            {"A finished run costs no request.", view{done: true, found: none}, actWait},
		"CancelBeforeJob":     {"Nothing to stop.", view{cancel: true, found: none}, actWait},
		"CancelUnrecordedJob": {"An interrupted creation left the Job unrecorded.", view{cancel: true, found: seenJob()}, actAdopt},

		"Runs":              {"Nothing to do.", view{ref: created, found: seenJob()}, actWait},
		"Pending":           {"The state is not known yet.", view{ref: created, found: Observation{State: Pending}}, actWait},
		"Missing":           {"The caller records it.", view{ref: created, found: missing, stored: live(created)}, actWait},
		"MissingUnread":     {"Another replica may have recorded the outcome.", view{ref: created, found: missing}, actReadOwner},
		"MissingProven":     {"It was read before.", view{ref: created, found: missing, proven: Missing}, actWait},
		"MissingDone":       {"The loss is recorded.", view{ref: created, done: true, ended: true, found: missing}, actWait},
		"Deleting":          {"The caller records it.", view{ref: created, found: seenJob(deleting), stored: live(created)}, actWait},
		"Suspend":           {"The request suspends the Job.", view{ref: created, suspend: ptr.To(true), found: seenJob(), stored: live(created)}, actSuspend},
		"SuspendUnread":     {"The stored owner is read first.", view{ref: created, suspend: ptr.To(true), found: seenJob()}, actReadOwner},
		"Resume":            {"The request resumes the Job.", view{ref: created, suspend: ptr.To(false), found: seenJob(suspended), stored: live(created)}, actResume},
		"ResumeOld":         {"The request has an old spec.", view{ref: created, suspend: ptr.To(false), found: seenJob(suspended), stored: &stored{exists: true, edited: true, ref: created}}, actWait},
		"ResumeEnded":       {"The run has ended meanwhile.", view{ref: created, suspend: ptr.To(false), found: seenJob(suspended), stored: &stored{exists: true, done: true, ref: created}}, actWait},
		"ResumeUnrecorded":  {"The Ref may wait until the Job has started.", view{ref: created, adopted: true, suspend: ptr.To(false), found: seenJob(suspended), stored: live(Ref{})}, actResume},
		"ResumeOther":       {"Another Job is recorded.", view{ref: created, adopted: true, suspend: ptr.To(false), found: seenJob(suspended), stored: live(Ref{UID: "b"})}, actWait},
		"SuspendUnasked":    {"A queue decides.", view{ref: created, found: seenJob(suspended)}, actWait},
		"SuspendAsItIs":     {"Nothing to do.", view{ref: created, suspend: ptr.To(true), found: seenJob(suspended)}, actWait},
		"SuspendTheDone":    {"A recorded run is not changed.", view{ref: ended, done: true, ended: true, suspend: ptr.To(true), found: seenJob()}, actWait},
		"SuspendTheRemoved": {"The Job is being deleted.", view{ref: created, suspend: ptr.To(true), found: seenJob(deleting), proven: Deleting}, actWait},

		"Finished":             {"The outcome goes into the Ref.", view{ref: created, found: seenJob(complete)}, actRecord},
		"FinishedLate":         {"The status became final before the Job finished.", view{ref: created, done: true, ended: true, found: seenJob(complete, week), retention: ten}, actReadOwner},
		"FinishedWhileDeleted": {"The owner is kept by a finalizer of its own, and waits for the outcome.", view{ref: created, done: true, found: seenJob(complete, week)}, actRecord},
		"NotDue":               {"No TTL was set, and the retention sets none.", view{ref: ended, done: true, found: seenJob(complete)}, actWait},
		"Due":                  {"The stored owner is read first.", view{ref: ended, done: true, found: seenJob(complete, week), retention: ten}, actReadOwner},
		"DueToKeep":            {"The TTL of the creation is removed.", view{ref: ended, done: true, found: seenJob(complete, week)}, actReadOwner},
		"Recorded":             {"The outcome is stored: the Job may be deleted.", view{ref: ended, done: true, found: seenJob(complete, week), retention: ten, stored: live(ended)}, actRelease},
		"OnlyInMemory":         {"A status that was not written records nothing.", view{ref: ended, done: true, found: seenJob(complete, week), retention: ten, stored: live(created)}, actWait},
		"OtherJob":             {"Another Job is recorded.", view{ref: ended, done: true, found: seenJob(complete, week), retention: ten, stored: live(Ref{UID: "b", Outcome: Failed})}, actWait},
		"NoOwner":              {"The garbage collector deletes the Job.", view{ref: ended, done: true, found: seenJob(complete, week), retention: ten, stored: &stored{}}, actWait},
		"Done":                 {"The annotation on the Job records the release.", view{ref: ended, done: true, found: seenJob(complete, week, letGo), retention: ten}, actWait},
		"Released":             {"The Ref records the release.", view{ref: Ref{UID: "a", Outcome: Succeeded, Released: true}, done: true, found: seenJob(complete, week), retention: ten}, actWait},
		"Stripped":             {"A copy without metadata is not trusted.", view{ref: ended, done: true, found: seenJob(complete, stripped), stored: live(ended)}, actRelease},
		"Returned":             {"A cached end is not believed.", view{ref: ended, done: true, ended: true, returned: true, found: seenJob(complete, week), retention: ten}, actReadOwner},
		"ReturnedReleased":     {"Nor is a cached release.", view{ref: Ref{UID: "a", Outcome: Succeeded, Released: true}, done: true, ended: true, returned: true, found: seenJob(complete, week)}, actReadOwner},
		"ReturnedUnended":      {"The restored owner waits for the result.", view{ref: ended, done: true, ended: true, returned: true, found: seenJob(complete, week), retention: ten, stored: live(created)}, actWait},
		"ReturnedEdited":       {"It may not be cancelled any more.", view{ref: created, cancel: true, returned: true, found: seenJob(), stored: &stored{exists: true, edited: true, ref: created}}, actWait},
		"Held":                 {"The finalizer is removed.", view{ref: ended, done: true, finalizer: resultFinalize, found: seenJob(complete, held), stored: live(ended)}, actRelease},
		"HeldUnwritten":        {"Its loss is not recorded.", view{ref: created, finalizer: resultFinalize, found: seenJob(deleting, held), proven: Deleting}, actWait},
		"HeldLost":             {"Its loss is recorded.", view{ref: created, done: true, ended: true, finalizer: resultFinalize, found: seenJob(deleting, held), stored: &stored{exists: true, done: true, ref: created}}, actRelease},

		"Cancel":           {"First its pods stop.", view{ref: created, cancel: true, found: seenJob()}, actSuspend},
		"CancelSuspended":  {"The caller records it.", view{ref: created, cancel: true, found: seenJob(suspended), deletes: true}, actWait},
		"CancelTooLate":    {"The Job has finished: its outcome is recorded.", view{ref: created, cancel: true, found: seenJob(complete)}, actRecord},
		"CancelMissing":    {"Nothing to stop.", view{ref: created, cancel: true, found: missing, proven: Missing}, actWait},
		"CancelDone":       {"The stored owner is read first.", view{ref: created, cancel: true, done: true, ended: true, found: seenJob(suspended), deletes: true}, actReadOwner},
		"Cancelled":        {"The cancellation is stored: the Job may be deleted.", view{ref: created, cancel: true, done: true, ended: true, found: seenJob(suspended), deletes: true, stored: &stored{exists: true, done: true, ref: created}}, actDelete},
		"CancelUnrecorded": {"The cancellation is stored, and the Job is this owner's.", view{ref: created, adopted: true, cancel: true, done: true, ended: true, found: seenJob(suspended), deletes: true, stored: &stored{exists: true, done: true}}, actDelete},
		"CancelUnwritten":  {"The cancellation is not stored.", view{ref: created, cancel: true, done: true, ended: true, found: seenJob(suspended), deletes: true, stored: live(created)}, actWait},
		"CancelKept":       {"The verb delete is not granted.", view{ref: created, cancel: true, done: true, ended: true, found: seenJob(suspended)}, actWait},
		"CancelResumed":    {"Another client resumed the Job.", view{ref: created, cancel: true, done: true, ended: true, found: seenJob()}, actSuspend},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.view.now = decidedAt
			assert.Equal(t, tc.want, decide(tc.view), tc.reason)
		})
	}
}

// FuzzDecide holds the two rules of decide for every view.
func FuzzDecide(f *testing.F) {
	f.Add(uint64(0), uint64(0))
	f.Add(uint64(1)<<40, uint64(3))
	f.Add(^uint64(0), uint64(7))
	f.Fuzz(func(t *testing.T, bits, kind uint64) {
		bit := func() bool { b := bits&1 == 1; bits >>= 1; return b }
		ref := func() (r Ref) {
			if r.Name = "run-1"; bit() {
				r.UID = "a"
				if bit() {
					r.Outcome = Failed
				}
				first, second := bit(), bit()
				r.Released = first && second
			}
			return r
		}
		v := view{ref: ref(), done: bit(), cancel: bit(), deletes: bit(), now: decidedAt}
		v.ended = v.done && bit()
		if bit() {
			v.suspend = ptr.To(bit())
		}
		if bit() {
			v.finalizer = resultFinalize
		}
		if bit() {
			v.stored = &stored{exists: bit(), deleting: bit(), done: bit(), ref: ref()}
		}
		if bit() {
			v.retention = Retention{SucceededTTL: time.Minute, UnrecordedTTL: time.Hour}
		}
		var edits []func(*batchv1.Job)
		for _, edit := range []func(*batchv1.Job){letGo, complete, deleting, suspended, held, stripped, week} {
			if bit() {
				edits = append(edits, edit)
			}
		}
		switch kind % 4 {
		case 0:
			v.found = Observation{State: []State{NotCreated, Pending, Missing, Replaced, Collected}[kind/4%5], Source: sourceLiveRead}
		case 1:
			v.found = seenJob(edits...)
			v.found.Source = sourceTombstone
		default:
			v.found = seenJob(edits...)
		}
		switch got := decide(v); got {
		case actCreate:
			assert.Empty(t, v.ref.UID)
			assert.True(t, v.stored.exists && !v.stored.deleting && !v.stored.done && v.stored.ref.UID == "")
			assert.Nil(t, v.found.Job)
		case actRelease, actDelete:
			assert.True(t, v.stored.exists && v.stored.ref.UID == v.ref.UID && (v.stored.ref.Outcome != "" || v.stored.done))
			assert.True(t, got == actRelease || v.deletes && v.cancel && v.ended)
		case actRecord:
			assert.NotEmpty(t, v.found.Outcome)
			assert.False(t, v.ended)
			assert.Empty(t, v.ref.Outcome)
		case actSuspend, actResume, actAdopt:
			assert.NotNil(t, v.found.Job)
			assert.True(t, got == actAdopt || v.found.State != Finished)
			assert.True(t, got == actAdopt || v.cancel || v.stored.exists && !v.stored.done && v.stored.ref.UID == v.ref.UID)
		case actReadOwner:
			assert.Nil(t, v.stored, "once")
		case actWait: // nothing is written
		}
	})
}
