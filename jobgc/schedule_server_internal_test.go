// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// run is an owner as the API server stores it.
type run struct {
	metav1.ObjectMeta

	cancel  bool
	suspend *bool
	ref     *Ref
	phase   string       // empty, or how it ended: an Outcome, lost or cancelled
	ended   *metav1.Time // when the phase was written
}

const (
	lost      = "lost"
	cancelled = "cancelled"
)

func (r *run) clone() *run {
	out := *r
	out.ObjectMeta, out.ref = *r.DeepCopy(), r.ref.DeepCopy()
	return &out
}

// change is one event of a watch.
type change[T any] struct {
	version int
	object  T
	deleted bool
}

// apiServer stores one run and the Jobs, with versions, preconditions and
// finalizers, and keeps what its watches send. It also knows the truth: what
// ran, how it ended, and who deleted it.
type apiServer struct {
	now     time.Time
	version int
	uids    int
	run     *run // nil: there is none
	jobs    map[string]*batchv1.Job
	runLog  []change[*run]
	jobLog  []change[*batchv1.Job]

	executed map[types.UID]map[types.UID]bool // by owner, the Jobs whose pods ran
	ended    map[types.UID]Outcome            // by Job
	taken    map[types.UID]bool               // Jobs that a person deleted
	orphans  map[types.UID]bool               // Jobs whose owner was gone when they were created
	wrong    []string                         // rules that were broken

	backup *backup // nil: there is none

	writes int
	traced bool
	trace  []string
}

const (
	namespace      = "ns"
	foreign        = "someone.example.com/note"
	foreignKeeper  = "someone.example.com/keeper"
	resultFinalize = "agents.example.com/result"
)

func newAPIServer() *apiServer {
	return &apiServer{
		// Far in the future, so that a deadline of simulated time never ends a
		// context of real time.
		now:  time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		jobs: map[string]*batchv1.Job{}, executed: map[types.UID]map[types.UID]bool{}, ended: map[types.UID]Outcome{}, taken: map[types.UID]bool{}, orphans: map[types.UID]bool{},
	}
}

func (s *apiServer) breaks(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// note keeps what happened, to be printed with the seed of a failure.
func (s *apiServer) note(format string, args ...any) {
	if s.traced {
		s.trace = append(s.trace, s.now.Format("15:04:05.00 ")+fmt.Sprintf(format, args...))
	}
}

func (s *apiServer) next() string {
	s.version++
	return strconv.Itoa(s.version)
}

func (s *apiServer) uid(kind string) types.UID {
	s.uids++
	return types.UID(fmt.Sprintf("%s-%d", kind, s.uids))
}

// putRun stores the run at the next version.
func (s *apiServer) putRun(r *run) {
	r.ResourceVersion = s.next()
	s.run = r
	s.runLog = append(s.runLog, change[*run]{s.version, r.clone(), false})
	s.note("%s at %d: phase=%q ref=%v cancel=%t suspend=%t", r.UID, s.version, r.phase, r.ref, r.cancel, ptr.Deref(r.suspend, false))
}

func (s *apiServer) deleteRun() {
	s.next()
	s.runLog = append(s.runLog, change[*run]{s.version, s.run, true})
	s.note("%s deleted", s.run.UID)
	s.run = nil
}

// putJob stores a Job at the next version, or removes it if it was waiting for
// its last finalizer.
func (s *apiServer) putJob(job *batchv1.Job) {
	job.ResourceVersion = s.next()
	s.note("%s at %d: ttl=%s suspended=%t deleting=%t finalizers=%v %s", job.UID, s.version, shown(job.Spec.TTLSecondsAfterFinished), ptr.Deref(job.Spec.Suspend, false), job.DeletionTimestamp != nil, job.Finalizers, StateOf(job).State)
	if job.DeletionTimestamp != nil && len(job.Finalizers) == 0 {
		delete(s.jobs, job.Name)
		s.jobLog = append(s.jobLog, change[*batchv1.Job]{s.version, job, true})
		return
	}
	s.jobs[job.Name] = job
	s.jobLog = append(s.jobLog, change[*batchv1.Job]{s.version, job, false})
}

func (s *apiServer) deleteJob(job *batchv1.Job) {
	if job.DeletionTimestamp != nil {
		return
	}
	job = job.DeepCopy()
	job.DeletionTimestamp = ptr.To(metav1.NewTime(s.now))
	s.putJob(job)
}

var (
	resourceOfJobs = schema.GroupResource{Group: "batch", Resource: "jobs"}
	resourceOfRuns = schema.GroupResource{Group: "agents.example.com", Resource: "agentruns"}
)

// commit is a status update that is pinned to the version that was read.
func (s *apiServer) commit(r *run) error {
	switch {
	case s.run == nil || s.run.Name != r.Name:
		return apierrors.NewNotFound(resourceOfRuns, r.Name)
	case s.run.UID != r.UID || s.run.ResourceVersion != r.ResourceVersion:
		return apierrors.NewConflict(resourceOfRuns, r.Name, errors.New("the object has been modified"))
	}
	s.writes++
	if r.phase == lost && s.run.phase != lost {
		s.watchLoss(r.ref.UID)
	}
	if outcome := Outcome(r.phase); s.run.phase != r.phase && (outcome == Succeeded || outcome == Failed) && s.ended[r.ref.UID] != outcome {
		s.breaks("recorded %s for Job %s, which ended %q", outcome, r.ref.UID, s.ended[r.ref.UID])
	}
	if s.run.ref != nil && s.run.ref.UID != "" && s.run.ref.UID != r.ref.UID {
		s.breaks("the recorded Job %s became %s", s.run.ref.UID, r.ref.UID)
	}
	s.putRun(r.clone())
	return nil
}

// watchLoss holds the record of a loss to the rules.
func (s *apiServer) watchLoss(uid types.UID) {
	for _, job := range s.jobs {
		if job.UID == uid && job.DeletionTimestamp == nil {
			s.breaks("falsely missing: Job %s exists", uid)
		}
	}
	if !s.taken[uid] {
		s.breaks("lost: nobody deleted Job %s", uid)
	}
}

func (s *apiServer) createJob(job *batchv1.Job, backstop *int32) (*batchv1.Job, error) {
	if s.jobs[job.Name] != nil {
		return nil, apierrors.NewAlreadyExists(resourceOfJobs, job.Name)
	}
	s.writes++
	if ttl := job.Spec.TTLSecondsAfterFinished; ttl != nil && (backstop == nil || *ttl < *backstop) {
		s.breaks("created with a TTL of %d", *ttl)
	}
	job = job.DeepCopy()
	job.UID = s.uid("job")
	s.orphans[job.UID] = s.run == nil || s.run.UID != metav1.GetControllerOfNoCopy(job).UID
	s.putJob(job)
	return job, nil
}

// patchJob patches a Job. Every call comes from the controller under test.
func (s *apiServer) patchJob(name string, data []byte) (*batchv1.Job, error) {
	before := s.jobs[name]
	if before == nil {
		return nil, apierrors.NewNotFound(resourceOfJobs, name)
	}
	job, ok := Patched(before, data)
	if !ok {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", resourceOfJobs, name, "", 0, false)
	}
	s.writes++
	s.watchOver(before, job)
	if !equality.Semantic.DeepEqual(before.Spec, job.Spec) {
		job.Generation++
	}
	s.putJob(job)
	return job, nil
}

// watchOver holds a patch to the rules.
func (s *apiServer) watchOver(before, after *batchv1.Job) {
	others := func(job *batchv1.Job) (map[string]string, []string) {
		notes := maps.Clone(job.Annotations)
		maps.DeleteFunc(notes, func(key, _ string) bool { return strings.HasPrefix(key, "jobgc.controllerkit.dev/") })
		return notes, slices.DeleteFunc(slices.Clone(job.Finalizers), func(name string) bool { return name == resultFinalize })
	}
	notes, keepers := others(before)
	notesNow, keepersNow := others(after)
	if !maps.Equal(notes, notesNow) || !slices.Equal(keepers, keepersNow) {
		s.breaks("touched what is not ours: %v %v, now %v %v", notes, keepers, notesNow, keepersNow)
	}
	owner := metav1.GetControllerOfNoCopy(before)
	if s.run == nil || s.run.UID != owner.UID {
		return
	}
	has, had := after.Spec.TTLSecondsAfterFinished, before.Spec.TTLSecondsAfterFinished
	lowered := has != nil && (had == nil || *has < *had)
	if before.Annotations[annotation] == "" {
		lowered = has != nil && *has < int32(168*time.Hour/time.Second) // taken over
	}
	freed := len(after.Finalizers) < len(before.Finalizers)
	if (lowered || freed) && s.run.phase == "" {
		s.breaks("released before the record")
	}
}

func (s *apiServer) removeJob(name string, uid types.UID) error {
	job := s.jobs[name]
	switch {
	case job == nil:
		return apierrors.NewNotFound(resourceOfJobs, name)
	case job.UID != uid:
		return apierrors.NewConflict(resourceOfJobs, name, errors.New("the uid in the precondition differs"))
	case s.run != nil && s.run.UID == metav1.GetControllerOfNoCopy(job).UID && s.run.phase != cancelled:
		s.breaks("deleted a Job whose cancellation is not recorded")
	}
	s.writes++
	s.deleteJob(job)
	return nil
}

// work is what the Job controller does next for a Job.
func (s *apiServer) work(job *batchv1.Job, outcome Outcome) {
	next := job.DeepCopy()
	is := func(kind batchv1.JobConditionType) {
		next.Status.Conditions = append(next.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now)})
	}
	f := StateOf(job)
	switch {
	case f.State == Finished || job.DeletionTimestamp != nil:
		return
	case f.State == Finishing:
		if s.ended[job.UID] == Failed {
			is(batchv1.JobFailed)
		} else {
			is(batchv1.JobComplete)
		}
	case ptr.Deref(job.Spec.Suspend, false):
		next.Status.StartTime = nil
		if f.State == Suspended {
			return
		}
		is(batchv1.JobSuspended)
	case job.Status.StartTime == nil:
		next.Status.StartTime = ptr.To(metav1.NewTime(s.now))
		next.Status.Conditions = nil
		owner := metav1.GetControllerOfNoCopy(job).UID
		if s.executed[owner] == nil {
			s.executed[owner] = map[types.UID]bool{}
		}
		s.executed[owner][job.UID] = true
	default:
		s.ended[job.UID] = outcome
		if outcome == Failed {
			is(batchv1.JobFailureTarget)
		} else {
			is(batchv1.JobSuccessCriteriaMet)
		}
	}
	s.putJob(next)
}

// sorted are the Jobs in an order that does not change.
func (s *apiServer) sorted() []*batchv1.Job {
	return slices.SortedFunc(maps.Values(s.jobs), func(a, b *batchv1.Job) int { return strings.Compare(a.Name, b.Name) })
}

// clean is what the TTL controller and the garbage collector do.
func (s *apiServer) clean() {
	for _, job := range s.sorted() {
		f, ttl := StateOf(job), job.Spec.TTLSecondsAfterFinished
		over := f.State == Finished && ttl != nil && !s.now.Before(f.FinishedAt.Add(time.Duration(*ttl)*time.Second))
		orphan := s.run == nil || s.run.UID != metav1.GetControllerOfNoCopy(job).UID
		if over || orphan {
			s.deleteJob(job)
		}
	}
}
