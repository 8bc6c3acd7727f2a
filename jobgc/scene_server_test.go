// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// sceneOwner is an owner as stored, and as a copy of it. Its end is an Outcome,
// "Lost" or "Cancelled".
type sceneOwner struct {
	metav1.ObjectMeta

	cancel  bool
	suspend *bool
	ref     *jobgc.Ref
	end     string
	endedAt time.Time
}

func (o *sceneOwner) clone() *sceneOwner {
	out := *o
	out.ObjectMeta = *o.DeepCopy()
	out.ref = o.ref.DeepCopy()
	return &out
}

// sceneServer is the API server of a scene: one owner, its Jobs, and what the
// watches of both have sent. It knows the truth, and which rules were broken.
type sceneServer struct {
	*server

	owner *sceneOwner // nil: there is none
	uids  int
	late  []func() // requests that the API server may still do

	policy time.Duration // the TTL that a policy sets on each new Job; it removes the finalizers

	ran     map[types.UID]map[types.UID]bool // by owner, the Jobs whose pods have run
	orphans []types.UID                      // Jobs that were created for an owner that was gone
	ended   map[types.UID]jobgc.Outcome      // by Job
	taken   map[types.UID]bool               // Jobs that another client has deleted
	freed   map[types.UID]bool               // Jobs that got their final TTL
	wrong   []string
}

func newSceneServer() *sceneServer {
	s := &sceneServer{
		server: newServer(),
		ran:    map[types.UID]map[types.UID]bool{},
		ended:  map[types.UID]jobgc.Outcome{},
		taken:  map[types.UID]bool{},
		freed:  map[types.UID]bool{},
	}
	s.putOwner(&sceneOwner{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "1"}})
	return s
}

func (s *sceneServer) breaks(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

func (s *sceneServer) putOwner(o *sceneOwner) {
	s.version++
	if o != nil {
		o.ResourceVersion = strconv.Itoa(s.version)
	}
	s.owner = o
}

// edit changes the owner, as a person does.
func (s *sceneServer) edit(change func(*sceneOwner)) {
	next := s.owner.clone()
	next.Generation++
	change(next)
	s.putOwner(next)
}

// named returns the names of the Jobs in their order.
func (s *sceneServer) named() []string { return slices.Sorted(maps.Keys(s.jobs)) }

// observe notes whose pods run. It is called after each change.
func (s *sceneServer) observe() {
	for _, job := range s.jobs {
		job.Namespace = "ns"
		s.runs(job)
	}
}

// runs notes that the pods of a Job have run.
func (s *sceneServer) runs(job *batchv1.Job) {
	controller := metav1.GetControllerOfNoCopy(job)
	if controller == nil || ptr.Deref(job.Spec.Suspend, false) {
		return
	}
	if s.ran[controller.UID] == nil {
		s.ran[controller.UID] = map[types.UID]bool{}
	}
	s.ran[controller.UID][job.UID] = true
}

// twice returns the owners whose work ran twice, and the Jobs whose owner was
// gone: it may be there again, with another Job.
func (s *sceneServer) twice() []types.UID {
	out := s.orphans
	for owner, jobs := range s.ran {
		if len(jobs) > 1 {
			out = append(out, owner)
		}
	}
	return out
}

// create creates a Job.
func (s *sceneServer) create(job *batchv1.Job) (*batchv1.Job, error) {
	defer s.observe()
	if s.jobs[job.Name] != nil {
		return nil, apierrors.NewAlreadyExists(jobResource, job.Name)
	}
	job = job.DeepCopy()
	s.uids++
	job.UID = types.UID(fmt.Sprintf("job-%d", s.uids))
	job.CreationTimestamp = metav1.Now()
	if s.policy > 0 {
		job.Spec.TTLSecondsAfterFinished = ptr.To(int32(s.policy / time.Second))
		job.Finalizers = nil
	}
	if s.owner == nil || s.owner.UID != metav1.GetControllerOfNoCopy(job).UID {
		s.orphans = append(s.orphans, job.UID)
	}
	return s.put(job).DeepCopy(), nil
}

func (s *sceneServer) read(name string) (*batchv1.Job, error) {
	if s.jobs[name] == nil {
		return nil, notFound(name)
	}
	return s.jobs[name].DeepCopy(), nil
}

// patchJob applies a patch of the controller.
func (s *sceneServer) patchJob(name string, data []byte) (*batchv1.Job, error) {
	defer s.observe()
	before := s.jobs[name]
	after, err := s.apply(name, data)
	if err != nil {
		return nil, err
	}
	s.checkPatch(before, after)
	return after.DeepCopy(), nil
}

// checkPatch holds a patch to its rule: a Job is released after the record.
func (s *sceneServer) checkPatch(before, after *batchv1.Job) {
	controller := metav1.GetControllerOfNoCopy(before)
	waits := s.owner != nil && s.owner.UID == controller.UID && s.owner.end == ""
	frees := len(after.Finalizers) < len(before.Finalizers)
	expires := after.Spec.TTLSecondsAfterFinished != nil && before.Spec.TTLSecondsAfterFinished == nil
	if waits && (frees || expires) && s.owner.DeletionTimestamp == nil {
		s.breaks("%s was released before its end was recorded", before.UID)
	}
	if expires {
		s.freed[before.UID] = true
	}
}

// deleteJob deletes a Job, which stays while a finalizer keeps it.
func (s *sceneServer) deleteJob(name string) {
	defer s.observe()
	if len(s.jobs[name].Finalizers) == 0 {
		s.remove(name)
		return
	}
	s.change(name, func(job *batchv1.Job) {
		if job.DeletionTimestamp == nil {
			job.DeletionTimestamp = ptr.To(metav1.Now())
		}
	})
}

// deleteFor is a deletion by the controller.
func (s *sceneServer) deleteFor(name string, pins metav1.Preconditions) error {
	job := s.jobs[name]
	switch {
	case job == nil:
		return notFound(name)
	case job.UID != *pins.UID || job.ResourceVersion != *pins.ResourceVersion:
		return apierrors.NewConflict(jobResource, name, errors.New("the precondition differs"))
	}
	controller := metav1.GetControllerOfNoCopy(job)
	if s.owner != nil && s.owner.UID == controller.UID && s.owner.end == "" {
		s.breaks("%s was deleted before its cancellation was recorded", job.UID)
	}
	s.deleteJob(name)
	return nil
}

var ownerResource = schema.GroupResource{Group: "agents.example.com", Resource: "agentruns"}

// commit writes the status, which fails if the owner has changed.
func (s *sceneServer) commit(o *sceneOwner) error {
	if s.owner == nil {
		return apierrors.NewNotFound(ownerResource, o.Name)
	}
	if s.owner.ResourceVersion != o.ResourceVersion || s.owner.UID != o.UID {
		return apierrors.NewConflict(ownerResource, o.Name, errors.New("the object has been modified"))
	}
	s.checkStatus(s.owner, o)
	s.putOwner(o.clone())
	return nil
}

// checkStatus holds a write of the status to the rules.
func (s *sceneServer) checkStatus(before, after *sceneOwner) {
	if before.ref != nil && before.ref.UID != "" && before.ref.UID != after.ref.UID {
		s.breaks("the recorded Job %s became %s", before.ref.UID, after.ref.UID)
	}
	if after.end == before.end {
		return
	}
	if before.end != "" {
		s.breaks("the end %s became %s", before.end, after.end)
	}
	switch after.end {
	case string(jobgc.Cancelled):
	case lostEnd:
		s.checkLoss(after.ref.UID)
	default:
		if s.ended[after.ref.UID] != jobgc.Outcome(after.end) {
			s.breaks("%s was recorded as %s, and ended %q", after.ref.UID, after.end, s.ended[after.ref.UID])
		}
	}
}

func (s *sceneServer) checkLoss(uid types.UID) {
	if !s.taken[uid] {
		s.breaks("%s is called lost, and was not deleted", uid)
	}
	for _, job := range s.jobs {
		if job.UID == uid && job.DeletionTimestamp == nil {
			s.breaks("%s is called lost, and exists", uid)
		}
	}
}

// expire deletes the Jobs whose TTL is over, as the TTL controller does, and
// returns their uids.
func (s *sceneServer) expire() []types.UID {
	var out []types.UID
	for _, name := range s.named() {
		job := s.jobs[name]
		ttl := job.Spec.TTLSecondsAfterFinished
		f := jobgc.StateOf(job)
		if f.State != jobgc.Finished || ttl == nil || job.DeletionTimestamp != nil {
			continue
		}
		over := f.FinishedAt.Add(time.Duration(*ttl) * time.Second)
		if time.Now().Before(over) {
			continue
		}
		out = append(out, job.UID)
		if !s.freed[job.UID] {
			s.taken[job.UID] = true // a TTL of others is over
		}
		s.deleteJob(name)
	}
	return out
}

// collect deletes the Jobs whose owner is gone, as the garbage collector does.
func (s *sceneServer) collect() []types.UID {
	var out []types.UID
	for _, name := range s.named() {
		job := s.jobs[name]
		controller := metav1.GetControllerOfNoCopy(job)
		if controller == nil || s.owner != nil && s.owner.UID == controller.UID {
			continue
		}
		out = append(out, job.UID)
		s.deleteJob(name)
	}
	return out
}

// list returns the Jobs as the API server lists them.
func (s *sceneServer) list() *batchv1.JobList {
	out := &batchv1.JobList{}
	for _, name := range s.named() {
		out.Items = append(out.Items, *s.jobs[name].DeepCopy())
	}
	return out
}
