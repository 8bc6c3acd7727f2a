// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

var jobsResource = batchv1.Resource("jobs")

// server is an API server for the Jobs of one namespace, whose watches lag
// behind.
type server struct {
	lag time.Duration

	mu      sync.Mutex
	version int
	jobs    map[string]*batchv1.Job
	watches []*watch.RaceFreeFakeWatcher
	gets    int
}

func newServer(lag time.Duration) *server {
	return &server{lag: lag, version: 1000, jobs: map[string]*batchv1.Job{}}
}

// client is the client of a namespace, as jobgc.New takes it.
func (s *server) client(string) *server { return s }

// Create stores a Job.
func (s *server) Create(_ context.Context, job *batchv1.Job, _ metav1.CreateOptions) (*batchv1.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[job.Name] != nil {
		return nil, apierrors.NewAlreadyExists(jobsResource, job.Name)
	}
	job = job.DeepCopy()
	job.UID = types.UID("uid-" + job.Name)
	job.CreationTimestamp = metav1.Now()
	return s.store(watch.Added, job), nil
}

// Get reads live.
func (s *server) Get(_ context.Context, name string, _ metav1.GetOptions) (*batchv1.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	if job := s.jobs[name]; job != nil {
		return job.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(jobsResource, name)
}

// Patch is not used, because no Job is released here.
func (s *server) Patch(
	context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string,
) (*batchv1.Job, error) {
	return nil, errors.ErrUnsupported
}

// remove is what the TTL controller does.
func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[name].DeepCopy()
	s.store(watch.Deleted, job)
	delete(s.jobs, name)
}

// store gives job the next version, keeps it, and tells the watches. It returns
// a copy for the caller.
func (s *server) store(kind watch.EventType, job *batchv1.Job) *batchv1.Job {
	s.version++
	job.ResourceVersion = strconv.Itoa(s.version)
	s.jobs[job.Name] = job
	for _, w := range s.watches {
		time.AfterFunc(s.lag, func() { w.Action(kind, job) })
	}
	return job.DeepCopy()
}

// list and watch are for an informer, which starts before there is any Job.
func (s *server) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &batchv1.JobList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}}, nil
}

//nolint:ireturn // the informer asks for it
func (s *server) watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := watch.NewRaceFreeFake()
	s.watches = append(s.watches, w)
	return w, nil
}

// watched reports whether an informer watches.
func (s *server) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches) > 0
}
