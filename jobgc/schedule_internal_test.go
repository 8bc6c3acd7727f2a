// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// bug is a mistake of a controller that the schedules have to find.
type bug int

const (
	noBug             bug = iota
	releasesUnwritten     // calls again with the Ref in memory, whose status was not written
	createsFromCache      // reads the owner from the cache, and remembers no Job
)

// schedule is one order of all events of one run name, two replicas and an API
// server. Every random choice comes from its seed.
type schedule struct {
	*apiServer

	rand     *rand.Rand
	bug      bug
	replicas [2]*replica

	retention Retention
	template  *int32 // ttlSecondsAfterFinished of the Job as built
	options   Options
	admission time.Duration // how long a webhook takes for a creation
	strips    bool          // the informer's transform drops what metadata it can
	failing   bool          // the work fails
	adopts    bool          // the first run has begun before the controller used this package; Jobs have their own names
	postpones bool          // the write of the first Ref waits until the Job has started
	restores  bool          // the server's store is restored from a backup, once
	records   bool          // the controller says when its final copies were recorded
	more      *rand.Rand    // of choices that came later
	chaos     bool
	released  bool // a Job with a short TTL: the documented gap is open
	disturbed int  // how often users did something
}

// draw makes the schedule of a seed.
func draw(seed uint64, b bug) *schedule {
	s := &schedule{apiServer: newAPIServer(), rand: rand.New(rand.NewPCG(seed, 1)), bug: b, chaos: true}
	pick := func(of ...time.Duration) time.Duration { return of[s.rand.IntN(len(of))] }
	s.retention = Retention{SucceededTTL: pick(0, time.Second, leastFinalTTL, 10*time.Minute), FailedTTL: pick(0, 30*time.Second, time.Hour), UnrecordedTTL: pick(0, 168*time.Hour)}
	s.admission = pick(0, 0, 0, 12*time.Second, 55*time.Second)
	if s.rand.IntN(2) == 0 {
		s.template = ptr.To([]int32{0, 1, 90, 600}[s.rand.IntN(4)])
	}
	s.options = Options{Retention: s.retention, DeleteCancelled: s.rand.IntN(2) == 0}
	if s.rand.IntN(4) == 0 {
		s.options.Finalizer = resultFinalize
	}
	s.strips = s.rand.IntN(4) == 0
	s.failing = s.rand.IntN(4) == 0
	more := rand.New(rand.NewPCG(seed, 2)) // so that the choices above stay those of their seed
	s.postpones = more.IntN(2) == 0
	s.restores = more.IntN(3) == 0
	s.records = more.IntN(2) == 0
	s.more = more
	s.create()
	s.adopts = more.IntN(4) == 0
	if s.adopts {
		s.putJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: s.nameOf(s.run), UID: s.uid("job"), OwnerReferences: controlledBy(s.run),
		}}) // a TTL of the earlier version could delete it before the first reconcile
	}
	for i := range s.replicas {
		s.replicas[i] = &replica{sim: s}
		s.replicas[i].start()
	}
	return s
}

// nameOf is Request.Name.
func (s *schedule) nameOf(r *run) string {
	if s.adopts {
		return "own-" + string(r.UID)
	}
	return ""
}

func controlledBy(r *run) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: "AgentRun", Name: r.Name, UID: r.UID, Controller: ptr.To(true)}}
}

// create makes a run; it has the name of the one before it.
func (s *schedule) create() {
	s.putRun(&run{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "run", UID: s.uid("run")}})
}

// play takes the schedule to its end, and says what went wrong.
func (s *schedule) play() []string {
	for range 60 + s.rand.IntN(120) {
		s.happen()
		if s.restores && s.more.IntN(25) == 0 {
			s.backUpOrRestore()
		}
	}
	s.chaos = false
	for range 400 {
		if s.quiet() {
			break
		}
	}
	s.judge()
	return s.wrong
}

// happen is one thing that happens.
func (s *schedule) happen() {
	r := s.replicas[s.rand.IntN(2)]
	switch n := s.rand.IntN(100); {
	case n < 12:
		r.hearOfRuns()
	case n < 27:
		r.hearOfJobs()
	case n < 62:
		switch {
		case r.resume != nil:
			r.proceed(s.judgement())
		case r.due || !r.again.IsZero() && !s.now.Before(r.again):
			r.again = time.Time{}
			r.begin()
		}
	case n < 74:
		for _, job := range s.sorted() {
			s.work(job, s.outcome())
		}
	case n < 80:
		s.clean()
	case n < 94:
		s.now = s.now.Add([]time.Duration{10 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 2 * time.Second, 12 * time.Second, 70 * time.Second, 700 * time.Second}[s.rand.IntN(7)])
	case n < 96 && r.resume == nil:
		r.start() // killed while it was idle
	case s.disturbed < 3:
		s.disturb()
	}
}

func (s *schedule) outcome() Outcome {
	if s.failing {
		return Failed
	}
	return Succeeded
}

func (s *schedule) judgement() fortune {
	if s.rand.IntN(8) > 0 {
		return served
	}
	return fortune(s.rand.IntN(5))
}

// backUpOrRestore makes the backup, and then restores it, which takes a minute.
// Requests that are under way fail, the informers of Jobs list again, and what
// a replica saw before does not bind it. The copies of the run stay late, until
// the informers of runs list again.
func (s *schedule) backUpOrRestore() {
	if s.backup == nil {
		s.backup = s.copyStore()
		return
	}
	s.now = s.now.Add(recordedLately)
	missed := len(s.runLog)
	s.restoreStore()
	s.restores = false
	for _, r := range s.replicas {
		r.cut = r.resume != nil
		r.runAt = missed
		for r.hearOfJobs() {
			continue
		}
		r.sawEnd = map[types.UID]bool{}
	}
}

// disturb is what users and other tools do.
func (s *schedule) disturb() {
	s.disturbed++
	n := s.rand.IntN(16)
	switch {
	case n < 2:
		s.edit(func(r *run) { r.cancel = true; r.Generation++ })
	case n < 4:
		s.edit(func(r *run) { r.suspend = ptr.To(r.suspend == nil || !*r.suspend); r.Generation++ })
	case n < 7:
		s.edit(func(r *run) { r.Annotations = map[string]string{"note": strconv.Itoa(s.version)} })
	case n < 9 && s.run == nil:
		s.create()
	case n < 9:
		s.deleteRun()
	case n < 11 && s.run != nil:
		s.deleteRun()
		s.create()
	default:
		for _, job := range s.sorted() {
			s.disturbJob(job, n)
		}
	}
}

// edit changes the run, if it is there.
func (s *schedule) edit(change func(*run)) {
	if s.run != nil {
		next := s.run.clone()
		change(next)
		s.putRun(next)
	}
}

func (s *schedule) disturbJob(job *batchv1.Job, n int) {
	next := job.DeepCopy()
	switch {
	case n < 13:
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		next.Annotations[foreign] = strconv.Itoa(s.version)
		s.putJob(next)
	case n < 14 && job.DeletionTimestamp == nil && len(next.Finalizers) < 2:
		next.Finalizers = append([]string{foreignKeeper}, next.Finalizers...)
		s.putJob(next)
	case n < 15:
		s.taken[job.UID] = true
		s.deleteJob(job)
	}
}

// quiet lets everything come to rest; true if nothing was left to do.
func (s *schedule) quiet() bool {
	rest := true
	for _, r := range s.replicas {
		for r.resume != nil {
			r.proceed(served)
			rest = false
		}
		for r.hearOfRuns() || r.hearOfJobs() {
			rest = false
		}
		if r.due || !r.again.IsZero() {
			r.again, rest = time.Time{}, false
			r.begin()
		}
	}
	for _, job := range s.sorted() {
		version := s.version
		s.work(job, s.outcome())
		if job = s.jobs[job.Name]; job != nil && len(job.Finalizers) > 0 && job.Finalizers[0] == foreignKeeper {
			next := job.DeepCopy()
			next.Finalizers = next.Finalizers[1:]
			s.putJob(next)
		}
		rest = rest && version == s.version
	}
	s.now = s.now.Add(1500 * time.Millisecond)
	return rest
}

// judge holds the end of the schedule to the rules.
func (s *schedule) judge() {
	for owner, jobs := range s.executed {
		s.judgeJobs(owner, jobs)
	}
	if s.run == nil {
		return
	}
	job := s.jobs[cmp.Or(s.nameOf(s.run), nameFor(s.run.UID))]
	if job != nil && s.run.ref != nil && s.run.ref.UID != "" && s.run.ref.UID != job.UID {
		job = nil // a second one, see judgeJobs
	}
	switch suspended := s.run.suspend != nil && *s.run.suspend; {
	case s.run.phase == "" && !suspended:
		s.breaks("not done at the end: %+v %+v", s.run.ref, StateOf(job))
	case job == nil || s.run.phase == "":
	case s.run.phase == cancelled && s.options.DeleteCancelled && StateOf(job).State != Finished:
		s.breaks("the Job of a cancelled run is still there")
	case s.run.phase == cancelled && !ptr.Deref(job.Spec.Suspend, false) && StateOf(job).State != Finished:
		s.breaks("the Job of a cancelled run still runs")
	case s.run.phase == string(s.outcome()):
		s.judgeRelease(job)
	}
}

// judgeJobs holds the Jobs that ran for an owner to the rules: there is one,
// except in the documented gaps.
func (s *schedule) judgeJobs(owner types.UID, jobs map[types.UID]bool) {
	unrecorded := false
	for uid := range jobs {
		unrecorded = unrecorded || s.taken[uid]
		if s.orphans[uid] {
			delete(jobs, uid) // its creation was under way when its owner was deleted, and the garbage collector takes it
		}
	}
	switch {
	case len(jobs) < 2:
	case unrecorded: // a person deleted a Job, and its Ref may not have been recorded
	case s.isShort():
		s.released = true
	default:
		s.breaks("run twice: %s has %d Jobs", owner, len(jobs))
	}
}

// isShort reports whether the TTL of a recorded Job is short enough for the
// documented gap.
func (s *schedule) isShort() bool {
	if s.template != nil {
		return time.Duration(*s.template)*time.Second < leastFinalTTL
	}
	short := func(d time.Duration) bool { return d > 0 && d < leastFinalTTL }
	return short(s.retention.SucceededTTL) || short(s.retention.FailedTTL)
}

// judgeRelease holds a Job whose outcome is recorded to its final TTL.
func (s *schedule) judgeRelease(job *batchv1.Job) {
	if hasFinalizer(job, resultFinalize) {
		s.breaks("still held")
	}
	want := s.retention.final(askedTTL(job), StateOf(job), s.now)
	if has := job.Spec.TTLSecondsAfterFinished; (want == nil) != (has == nil) {
		s.breaks("the final TTL is %s, want %s", shown(has), shown(want))
	}
}

func shown(ttl *int32) string {
	if ttl == nil {
		return "none"
	}
	return fmt.Sprint(*ttl)
}
