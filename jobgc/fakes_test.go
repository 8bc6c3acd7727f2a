// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

var errUnexpected = errors.New("a request that must not be made")

// fakeJobs is a client whose missing functions refuse.
type fakeJobs struct {
	create func(*batchv1.Job) (*batchv1.Job, error)
	get    func(name string) (*batchv1.Job, error)
	patch  func(name string, data []byte) (*batchv1.Job, error)
	list   func() (*batchv1.JobList, error)
	remove func(name string, opts metav1.DeleteOptions) error
}

func (f fakeJobs) List(context.Context, metav1.ListOptions) (*batchv1.JobList, error) {
	if f.list == nil {
		return nil, errUnexpected
	}
	return f.list()
}

func (f fakeJobs) Delete(_ context.Context, name string, opts metav1.DeleteOptions) error {
	if f.remove == nil {
		return errUnexpected
	}
	return f.remove(name, opts)
}

func (f fakeJobs) Create(_ context.Context, job *batchv1.Job, _ metav1.CreateOptions) (*batchv1.Job, error) {
	if f.create == nil {
		return nil, errUnexpected
	}
	return f.create(job)
}

func (f fakeJobs) Get(_ context.Context, name string, _ metav1.GetOptions) (*batchv1.Job, error) {
	if f.get == nil {
		return nil, errUnexpected
	}
	return f.get(name)
}

func (f fakeJobs) Patch(_ context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*batchv1.Job, error) {
	if f.patch == nil || pt != types.JSONPatchType {
		return nil, errUnexpected
	}
	return f.patch(name, data)
}

// server holds the Jobs of one namespace and answers as the real API server
// does. Its fields may be changed at will.
type server struct {
	version                         int
	jobs                            map[string]*batchv1.Job
	creates, gets, patches, removes int
	refuse                          error // of each patch
	away                            error // of each get
	keep                            error // of each deletion
}

func newServer() *server { return &server{jobs: map[string]*batchv1.Job{}} }

var jobResource = schema.GroupResource{Group: "batch", Resource: "jobs"}

func notFound(name string) error { return apierrors.NewNotFound(jobResource, name) }

func notFoundOf(group, resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: resource}, name)
}

// client is what the method value clientset.BatchV1().Jobs would be.
func (s *server) client(string) fakeJobs {
	return fakeJobs{
		create: func(job *batchv1.Job) (*batchv1.Job, error) {
			s.creates++
			if s.jobs[job.Name] != nil {
				return nil, apierrors.NewAlreadyExists(jobResource, job.Name)
			}
			job = job.DeepCopy()
			job.UID = types.UID(fmt.Sprintf("uid-%d", s.creates))
			s.put(job)
			return job.DeepCopy(), nil
		},
		get: func(name string) (*batchv1.Job, error) {
			s.gets++
			if s.away != nil {
				return nil, s.away
			}
			if s.jobs[name] == nil {
				return nil, notFound(name)
			}
			return s.jobs[name].DeepCopy(), nil
		},
		patch: func(name string, data []byte) (*batchv1.Job, error) {
			if s.patches++; s.refuse != nil {
				return nil, s.refuse
			}
			return s.apply(name, data)
		},
		remove: func(name string, opts metav1.DeleteOptions) error {
			if s.removes++; s.keep != nil {
				return s.keep
			}
			job := s.jobs[name]
			switch {
			case job == nil:
				return notFound(name)
			case *opts.Preconditions.UID != job.UID, *opts.Preconditions.ResourceVersion != job.ResourceVersion:
				return apierrors.NewConflict(jobResource, name, errors.New("the precondition differs"))
			case *opts.PropagationPolicy != metav1.DeletePropagationBackground:
				return errors.New("the garbage collector deletes the pods")
			}
			s.remove(name)
			return nil
		},
		list: func() (*batchv1.JobList, error) {
			out := &batchv1.JobList{}
			for _, job := range s.jobs {
				out.Items = append(out.Items, *job)
			}
			return out, nil
		},
	}
}

// put stores a Job at the next version.
func (s *server) put(job *batchv1.Job) *batchv1.Job {
	s.version++
	job.ResourceVersion = strconv.Itoa(s.version)
	s.jobs[job.Name] = job
	return job
}

// change edits a Job.
func (s *server) change(name string, edit func(*batchv1.Job)) *batchv1.Job {
	job := s.jobs[name].DeepCopy()
	edit(job)
	return s.put(job)
}

// remove deletes a Job and returns its last state.
func (s *server) remove(name string) *batchv1.Job {
	job := s.jobs[name]
	delete(s.jobs, name)
	s.version++
	return job
}

// apply patches a Job, which goes with its last finalizer if it is being
// deleted.
func (s *server) apply(name string, data []byte) (*batchv1.Job, error) {
	if s.jobs[name] == nil {
		return nil, notFound(name)
	}
	job, err := patched(s.jobs[name], data)
	if err != nil {
		return nil, invalid(name)
	}
	if job.DeletionTimestamp != nil && len(job.Finalizers) == 0 {
		return s.remove(name), nil
	}
	return s.put(job), nil
}

// patched applies a JSON patch as the API server does.
func patched(job *batchv1.Job, data []byte) (*batchv1.Job, error) {
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, err
	}
	out := new(batchv1.Job)
	return out, json.Unmarshal(after, out)
}

// invalid is the answer to a patch whose test fails, and to a patch that makes
// the Job invalid.
func invalid(name string) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", jobResource, name, "the server rejected our request due to an error in our request", 0, false)
}

// fakeStore is the cache of an informer.
type fakeStore struct {
	items map[string]*batchv1.Job
	err   error // of each read
}

// Get is the cached read.
func (f *fakeStore) Get(_ context.Context, namespace, name string) (*batchv1.Job, error) {
	job, ok := f.items[namespace+"/"+name]
	if f.err != nil || ok {
		return job, f.err
	}
	return nil, notFound(name)
}

// List is the cached list.
func (f *fakeStore) List(context.Context) ([]*batchv1.Job, error) {
	var out []*batchv1.Job
	for _, key := range slices.Sorted(maps.Keys(f.items)) {
		out = append(out, f.items[key])
	}
	return out, f.err
}

// sync brings the cache up to date.
func (f *fakeStore) sync(s *server) {
	f.items = map[string]*batchv1.Job{}
	for name, job := range maps.All(s.jobs) {
		job = job.DeepCopy()
		job.Namespace = "ns"
		f.items["ns/"+name] = job
	}
}

// world is a server, a store that syncs only when the test says, and a Guard
// over both.
type world struct {
	*server
	store *fakeStore
	guard *jobgc.Guard
}

func newWorld(t *testing.T, opts jobgc.Options) *world {
	t.Helper()
	w := &world{server: newServer(), store: &fakeStore{}}
	w.version = 5
	w.store.sync(w.server)
	g, err := jobgc.New(w.client, w.store, opts)
	require.NoError(t, err)
	w.guard = g
	return w
}

// ensured creates a Job and returns its Ref.
func (w *world) ensured(t *testing.T) jobgc.Ref {
	t.Helper()
	ref, err := ensure(t.Context(), w.guard, jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
	require.NoError(t, err)
	return ref
}

// stepper is a Guard.
type stepper interface {
	Step(ctx context.Context, req jobgc.Request) (*jobgc.Ref, jobgc.Observation, error)
}

// ensure is the step of a stored owner that has recorded no uid.
func ensure(ctx context.Context, g stepper, ref jobgc.Ref, job *batchv1.Job) (jobgc.Ref, error) {
	controller := metav1.GetControllerOf(job)
	owner := &metav1.ObjectMeta{Namespace: ref.Namespace, Name: controller.Name, UID: controller.UID}
	next, _, err := g.Step(ctx, jobgc.Request{
		Owner: owner, Ref: &ref, Name: ref.Name,
		Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return owner, &ref, false, nil },
		Job:    func() (*batchv1.Job, error) { return job, nil },
	})
	return *next, err
}

// release is the step of a stored owner that has recorded how its run ended.
func release(ctx context.Context, g stepper, ref jobgc.Ref) error {
	owner := &metav1.ObjectMeta{Namespace: ref.Namespace, Name: "run", UID: "run-uid"}
	_, _, err := g.Step(ctx, jobgc.Request{
		Owner: owner, Ref: &ref, Done: true,
		Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return owner, &ref, true, nil },
		Job:    func() (*batchv1.Job, error) { return nil, errUnexpected },
	})
	return err
}

// ownedJob is the Job of a run.
func ownedJob() *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", OwnerReferences: []metav1.OwnerReference{ownerRef("run", "run-uid")}}}
}

func ownerRef(name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "agents.example.com/v1", Kind: "AgentRun", Name: name, UID: uid, Controller: ptr.To(true)}
}

// holds makes a condition true at a time.
func holds(t batchv1.JobConditionType, at time.Time) batchv1.JobCondition {
	return batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at), Reason: string(t) + "Reason", Message: string(t) + " message"}
}

// finish completes a Job as the Job controller does.
func finish(at time.Time) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Status.StartTime = ptr.To(metav1.NewTime(at.Add(-time.Minute)))
		job.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobSuccessCriteriaMet, at), holds(batchv1.JobComplete, at)}
		job.Status.Succeeded = 1
	}
}
