// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	cachetesting "k8s.io/client-go/tools/cache/testing"
)

var jobsResource = batchv1.Resource("jobs")

// server is an API server for the Jobs of one namespace, whose watches lag
// behind.
type server struct {
	batchclient.JobInterface // nil: nothing else is used

	watched *cachetesting.FakeControllerSource // what the watches have seen

	mu   sync.Mutex
	jobs map[string]*batchv1.Job
	gets int
}

func newServer() *server {
	return &server{watched: cachetesting.NewFakeControllerSource(), jobs: map[string]*batchv1.Job{}}
}

// client is the client of a namespace, as jobgc.New takes it.
func (s *server) client(string) *server { return s }

// Create stores a Job.
func (s *server) Create(_ context.Context, job *batchv1.Job, _ metav1.CreateOptions) (*batchv1.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job = job.DeepCopy()
	job.UID = types.UID("uid-" + job.Name)
	job.CreationTimestamp = metav1.Now()
	s.jobs[job.Name] = job
	time.AfterFunc(lag, func() { s.watched.Add(job.DeepCopy()) })
	return job.DeepCopy(), nil
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

// remove is what the TTL controller does.
func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[name]
	delete(s.jobs, name)
	time.AfterFunc(lag, func() { s.watched.Delete(job.DeepCopy()) })
}
