// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

var (
	created = record{uid: "a"}
	final   = record{uid: "a", outcome: Succeeded}
)

// seenJob is what the cache shows of a Job that Step has created.
func seenJob(edits ...func(*jobFacts)) finding {
	job := jobFacts{uid: "a", control: controlOwner, state: Active, annotated: true, ttl: ttlFacts{unset: true, final: true}}
	for _, edit := range edits {
		edit(&job)
	}
	if job.deleting && job.state != Finished {
		job.state = Deleting
	}
	return finding{state: job.state, outcome: job.outcome, source: sourceSeen, job: job}
}

func complete(job *jobFacts) {
	job.state = Finished
	job.outcome = Succeeded
}

func deleting(job *jobFacts)  { job.deleting = true }
func suspended(job *jobFacts) { job.suspends = true }
func held(job *jobFacts)      { job.held = true }
func stripped(job *jobFacts)  { job.annotated = false }
func week(job *jobFacts)      { job.ttl = ttlFacts{} }
func letGo(job *jobFacts)     { job.released = true }

func TestDecide(t *testing.T) {
	live := func(ref record) owner { return owner{is: ownerWaits, ref: ref} }
	none := finding{state: NotCreated}
	missing := finding{state: Missing, source: sourceLiveRead}
	cases := map[string]struct {
		reason string
		view   view
		want   action
	}{
		"ReadFirst":           {"A copy may be stale.", view{found: none}, actReadOwner},
		"Create":              {"The stored owner wants a Job and has none.", view{found: none, stored: live(record{})}, actCreate},
		"OwnerGone":           {"An owner that is gone gets no Job.", view{found: none, stored: owner{is: ownerGone}}, actWait},
		"OwnerDeleting":       {"An owner that is being deleted gets no Job.", view{found: none, stored: owner{is: ownerDeleting}}, actWait},
		"OwnerDone":           {"A finished owner gets no Job.", view{found: none, stored: owner{is: ownerDone}}, actWait},
		"OwnerHasJob":         {"The caller's copy is stale.", view{found: none, stored: live(created)}, actWait},
		"DoneCopy":            {"A finished run costs no request.", view{ended: true, found: none}, actWait},
		"CancelBeforeJob":     {"Nothing to stop.", view{cancel: true, found: none}, actWait},
		"CancelUnrecordedJob": {"An interrupted creation left the Job unrecorded.", view{cancel: true, found: seenJob()}, actAdopt},

		"Runs":              {"Nothing to do.", view{ref: created, found: seenJob()}, actWait},
		"Pending":           {"The state is not known yet.", view{ref: created, found: finding{state: Pending}}, actWait},
		"Missing":           {"The caller records it.", view{ref: created, found: missing, stored: live(created)}, actWait},
		"MissingUnread":     {"Another replica may have recorded the outcome.", view{ref: created, found: missing}, actReadOwner},
		"MissingProven":     {"It was read before.", view{ref: created, found: missing, memory: recollection{loss: Missing}}, actWait},
		"MissingDone":       {"The loss is recorded, and nothing is left to do.", view{ref: created, ended: true, found: missing}, actClose},
		"Deleting":          {"The caller records it.", view{ref: created, found: seenJob(deleting), stored: live(created)}, actWait},
		"Suspend":           {"The request suspends the Job.", view{ref: created, suspend: wishSuspend, found: seenJob(), stored: live(created)}, actSuspend},
		"SuspendUnread":     {"The stored owner is read first.", view{ref: created, suspend: wishSuspend, found: seenJob()}, actReadOwner},
		"Resume":            {"The request resumes the Job.", view{ref: created, suspend: wishRun, found: seenJob(suspended), stored: live(created)}, actResume},
		"ResumeOld":         {"The request has an old spec.", view{ref: created, suspend: wishRun, found: seenJob(suspended), stored: owner{is: ownerWaits, edited: true, ref: created}}, actWait},
		"ResumeEnded":       {"The run has ended since.", view{ref: created, suspend: wishRun, found: seenJob(suspended), stored: owner{is: ownerDone, ref: created}}, actWait},
		"ResumeUnrecorded":  {"The Ref may wait until the Job has started.", view{ref: created, adopted: true, suspend: wishRun, found: seenJob(suspended), stored: live(record{})}, actResume},
		"ResumeOther":       {"Another Job is recorded.", view{ref: created, adopted: true, suspend: wishRun, found: seenJob(suspended), stored: live(record{uid: "b"})}, actWait},
		"SuspendUnasked":    {"A queue decides.", view{ref: created, found: seenJob(suspended)}, actWait},
		"SuspendAsItIs":     {"Nothing to do.", view{ref: created, suspend: wishSuspend, found: seenJob(suspended)}, actWait},
		"SuspendTheDone":    {"A recorded run is not changed.", view{ref: final, ended: true, suspend: wishSuspend, found: seenJob()}, actWait},
		"SuspendTheRemoved": {"The Job is being deleted.", view{ref: created, suspend: wishSuspend, found: seenJob(deleting), memory: recollection{loss: Deleting}}, actWait},

		"Finished":             {"The outcome goes into the Ref.", view{ref: created, found: seenJob(complete)}, actRecord},
		"FinishedLate":         {"The status became final before the Job finished.", view{ref: created, ended: true, found: seenJob(complete, week)}, actReadOwner},
		"FinishedWhileDeleted": {"The owner has a separate finalizer, and waits for the outcome.", view{ref: created, deleting: true, found: seenJob(complete, week)}, actRecord},
		"NotDue":               {"No TTL was set, and the retention sets none.", view{ref: final, ended: true, found: seenJob(complete)}, actWait},
		"Due":                  {"The stored owner is read first.", view{ref: final, ended: true, found: seenJob(complete, week)}, actReadOwner},
		"DueToKeep":            {"The TTL of the creation is removed.", view{ref: final, ended: true, found: seenJob(complete, week)}, actReadOwner},
		"Recorded":             {"The outcome is stored: the Job may be deleted.", view{ref: final, ended: true, found: seenJob(complete, week), stored: live(final)}, actRelease},
		"OnlyInMemory":         {"A status that was not written records nothing.", view{ref: final, ended: true, found: seenJob(complete, week), stored: live(created)}, actWait},
		"OtherJob":             {"Another Job is recorded.", view{ref: final, ended: true, found: seenJob(complete, week), stored: live(record{uid: "b", outcome: Failed})}, actWait},
		"NoOwner":              {"The garbage collector deletes the Job.", view{ref: final, ended: true, found: seenJob(complete, week), stored: owner{is: ownerGone}}, actWait},
		"Done":                 {"The annotation on the Job records the release.", view{ref: final, ended: true, found: seenJob(complete, week, letGo)}, actWait},
		"Released":             {"The Ref records the release.", view{ref: record{uid: "a", outcome: Succeeded, released: true}, ended: true, found: seenJob(complete, week)}, actWait},
		"Stripped":             {"A copy without metadata is not trusted.", view{ref: final, ended: true, found: seenJob(complete, stripped), stored: live(final)}, actRelease},
		"Returned":             {"A cached end is not believed.", view{ref: final, ended: true, returned: true, found: seenJob(complete, week)}, actReadOwner},
		"ReturnedReleased":     {"Nor is a cached release.", view{ref: record{uid: "a", outcome: Succeeded, released: true}, ended: true, returned: true, found: seenJob(complete, week)}, actReadOwner},
		"ReturnedUnended":      {"The restored owner waits for the result.", view{ref: final, ended: true, returned: true, found: seenJob(complete, week), stored: live(created)}, actWait},
		"ReturnedEdited":       {"Its cancellation may have been taken back.", view{ref: created, cancel: true, returned: true, found: seenJob(), stored: owner{is: ownerWaits, edited: true, ref: created}}, actWait},
		"Held":                 {"The finalizer is removed.", view{ref: final, ended: true, finalizer: true, found: seenJob(complete, held), stored: live(final)}, actRelease},
		"HeldUnwritten":        {"Its loss is not recorded.", view{ref: created, finalizer: true, found: seenJob(deleting, held), memory: recollection{loss: Deleting}}, actWait},
		"HeldLost":             {"Its loss is recorded.", view{ref: created, ended: true, finalizer: true, found: seenJob(deleting, held), stored: owner{is: ownerDone, ref: created}}, actRelease},

		"Cancel":           {"First its pods stop.", view{ref: created, cancel: true, found: seenJob()}, actSuspend},
		"CancelSuspended":  {"The caller records it.", view{ref: created, cancel: true, found: seenJob(suspended), deletes: true}, actWait},
		"CancelTooLate":    {"The Job has finished: its outcome is recorded.", view{ref: created, cancel: true, found: seenJob(complete)}, actRecord},
		"CancelMissing":    {"Nothing to stop.", view{ref: created, cancel: true, found: missing, memory: recollection{loss: Missing}}, actWait},
		"CancelDone":       {"The stored owner is read first.", view{ref: created, cancel: true, ended: true, found: seenJob(suspended), deletes: true}, actReadOwner},
		"Cancelled":        {"The cancellation is stored: the Job may be deleted.", view{ref: created, cancel: true, ended: true, found: seenJob(suspended), deletes: true, stored: owner{is: ownerDone, ref: created}}, actDelete},
		"CancelRefuted":    {"The stored run has an outcome, so its Job is kept.", view{ref: created, cancel: true, ended: true, found: seenJob(suspended, complete, week), deletes: true, stored: owner{is: ownerDone, ref: final}}, actRelease},
		"CancelUnrecorded": {"The cancellation is stored, and the Job is this owner's.", view{ref: created, adopted: true, cancel: true, ended: true, found: seenJob(suspended), deletes: true, stored: owner{is: ownerDone}}, actDelete},
		"CancelUnwritten":  {"The cancellation is not stored.", view{ref: created, cancel: true, ended: true, found: seenJob(suspended), deletes: true, stored: live(created)}, actWait},
		"CancelKept":       {"The verb delete is not granted.", view{ref: created, cancel: true, ended: true, found: seenJob(suspended)}, actWait},
		"CancelResumed":    {"Another client resumed the Job.", view{ref: created, cancel: true, ended: true, found: seenJob()}, actSuspend},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, decide(tc.view), tc.reason)
		})
	}
}

// choices are the bits of a fuzzer's number, each of which is used once.
type choices uint64

func (c *choices) next() bool {
	bit := *c&1 == 1
	*c >>= 1
	return bit
}

func (c *choices) ref() (r record) {
	if !c.next() {
		return r
	}
	r.uid = "a"
	if c.next() {
		r.outcome = Failed
	}
	first := c.next()
	second := c.next()
	r.released = first && second
	return r
}

func (c *choices) stored() (o owner) {
	if !c.next() {
		return o
	}
	o.is = ownerGone
	if c.next() {
		o.is = ownerWaits
		o.ref = c.ref()
	}
	deletes := c.next()
	done := c.next()
	switch {
	case o.is == ownerGone:
	case done:
		o.is = ownerDone
	case deletes:
		o.is = ownerDeleting
	}
	return o
}

func (c *choices) found(kind uint64) finding {
	var edits []func(*jobFacts)
	for _, edit := range []func(*jobFacts){letGo, complete, deleting, suspended, held, stripped, week} {
		if c.next() {
			edits = append(edits, edit)
		}
	}
	f := seenJob(edits...)
	switch kind % 4 {
	case 0:
		f = finding{state: []State{NotCreated, Pending, Missing, Replaced, Collected}[kind/4%5], source: sourceLiveRead}
	case 1:
		f.source = sourceTombstone
	case 2:
		f.source = sourceLiveRead
	}
	return f
}

// FuzzDecide holds the two rules of decide for every view.
func FuzzDecide(f *testing.F) {
	f.Add(uint64(0), uint64(0))
	f.Add(uint64(1)<<40, uint64(3))
	f.Add(^uint64(0), uint64(7))
	f.Fuzz(func(t *testing.T, bits, kind uint64) {
		c := choices(bits)
		v := view{
			ref: c.ref(), ended: c.next(), deleting: c.next(), cancel: c.next(), deletes: c.next(), finalizer: c.next(),
		}
		if c.next() {
			v.suspend = []wish{wishRun, wishSuspend}[kind%2]
		}
		v.stored = c.stored()
		v.found = c.found(kind)
		got := decide(v)
		switch got {
		case actCreate:
			assert.Empty(t, v.ref.uid)
			assert.True(t, v.stored.is == ownerWaits && v.stored.ref.uid == "")
			assert.Empty(t, v.found.job.uid)
		case actRelease, actDelete:
			assert.True(t, v.stored.ref.uid == v.ref.uid && (v.stored.ref.outcome != "" || v.stored.is == ownerDone))
			assert.True(t, got == actRelease || v.deletes && v.cancel && v.ended)
		case actRecord:
			assert.NotEmpty(t, v.found.outcome)
			assert.False(t, v.ended)
			assert.Empty(t, v.ref.outcome)
		case actClose:
			assert.True(t, v.ended || v.found.state == Finished)
			assert.Equal(t, sourceLiveRead, v.found.source)
			assert.False(t, v.found.job.held)
		case actSuspend, actResume, actAdopt:
			assert.NotEmpty(t, v.found.job.uid)
			assert.True(t, got == actAdopt || v.found.state != Finished)
			assert.True(t, got == actAdopt || v.cancel || (v.stored.is == ownerWaits || v.stored.is == ownerDeleting) && v.stored.ref.uid == v.ref.uid)
		case actReadOwner:
			assert.Equal(t, ownerUnread, v.stored.is, "once")
		case actWait: // nothing is written
		}
	})
}

// TestOwnerRead_ConfirmsNoLossOfARunThatHasEnded: it would hold for a late copy
// in which the run goes on.
func TestOwnerRead_ConfirmsNoLossOfARunThatHasEnded(t *testing.T) {
	for ended, want := range map[bool]State{false: Deleting, true: ""} {
		m := machine{view: view{ref: created, ended: ended, returned: true, found: seenJob(deleting)}, stage: stageOwner}
		stored := owner{is: ownerWaits, ref: created}
		if ended {
			stored.is = ownerDone
		}
		m = m.answer(answer{verdict: verdictDone, owner: stored})
		assert.Equal(t, want, m.notes.loss)
	}
}
