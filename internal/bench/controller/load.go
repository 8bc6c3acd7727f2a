// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
)

// outcome is the annotation by which the stand-in for the kubelet ends a pod.
const outcome = "controlplane.controllerkit.dev/outcome"

// story is the i-th run of a load: a third let their Job go as soon as its result is recorded, a third fail.
func story(i int) *v1alpha1.AgentRun {
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("run-%05d", i)}}
	run.Spec.Image = "busybox:1.37"
	run.Spec.PodAnnotations = map[string]string{"controlplane.controllerkit.dev/delay": "200ms"}
	switch i % 3 {
	case 1:
		run.Spec.JobTTLSecondsAfterFinished = new(int32(0))
	case 2:
		run.Spec.PodAnnotations[outcome] = "fail"
	}
	return run
}

func truth(run *v1alpha1.AgentRun) v1alpha1.Phase {
	if run.Spec.PodAnnotations[outcome] == "fail" {
		return v1alpha1.Failed
	}
	return v1alpha1.Succeeded
}

// account is what a load came to.
type account struct {
	cost

	finished                time.Duration
	verbs                   map[string]int
	events, silent          int // events written; failed runs without one
	wrong, missing, doubled int // outcomes; Jobs beyond the first of a run
}

// creators create runs at the same time: faster than either controller works them off.
const creators = 8

// fault is what is killed three times while a load is created.
type fault string

const (
	nothing       fault = ""
	theAPIServer  fault = "API server"
	theController fault = "controller"
)

// kills is how often.
const kills = 3

// load has a controller work off n runs, while something is killed, and says what that came to.
func (s *stand) load(ctx context.Context, k kind, n int, f fault) (*account, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	w, err := s.newWorld(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := w.watchJobs(ctx)
	if err != nil {
		return nil, err
	}
	c, err := k.start(ctx, s.dir, w.Namespace, w.kubeconfig)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	a := &account{verbs: map[string]int{}}
	kill := func() error { return nil }
	switch f {
	case nothing:
	case theAPIServer:
		kill = func() error {
			if err := s.plane.APIServer.Kill(); err != nil {
				return err
			}
			pause(ctx, time.Second)
			return s.plane.APIServer.Start(ctx)
		}
	case theController:
		kill = func() error { // and the node with it: another takes a while to start
			used, err := c.end(syscall.SIGKILL)
			if err != nil {
				return err
			}
			a.add(used)
			pause(ctx, 3*time.Second)
			c, err = k.start(ctx, s.dir, w.Namespace, w.kubeconfig)
			return err
		}
	}
	if err := s.fill(ctx, w, n, f, kill); err != nil {
		return nil, err
	}
	runs, err := w.ended(ctx, n, time.Now().Add(3*time.Minute))
	if err != nil {
		return nil, err
	}
	a.finished = time.Since(began)
	for _, run := range runs {
		switch {
		case run.Status.Phase.Progress() != status.Done:
			a.missing++
		case run.Status.Phase != truth(&run):
			a.wrong++
		}
	}
	if _, err := w.told(ctx, runs, time.Now().Add(20*time.Second)); err != nil { // events may come later than the end of their run
		return nil, err
	}
	used, err := c.end(syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	a.add(used)
	if a.silent, err = w.told(ctx, runs, time.Now()); err != nil {
		return nil, err
	}
	for _, of := range jobs() {
		a.doubled += len(of) - 1
	}
	return a, s.count(a, w)
}

// add adds what one of several processes used.
func (c *cost) add(more cost) { c.cpu, c.peak = c.cpu+more.cpu, max(c.peak, more.peak) }

// count adds the requests.
func (s *stand) count(a *account, w *world) error {
	all, err := s.requests(w.user, time.Time{})
	for _, r := range all {
		a.verbs[r.Verb]++
		a.verbs["all"]++
		if r.For.Resource == "events" && r.writes() && r.Response.Code < 300 {
			a.events++
		}
	}
	return err
}

// fill creates the runs, and has something killed at even parts of them.
func (*stand) fill(ctx context.Context, w *world, n int, f fault, kill func() error) error {
	var next atomic.Int64
	var creating sync.WaitGroup
	for range creators {
		creating.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				for ctx.Err() == nil {
					if _, err := w.Runs.Create(ctx, story(i), metav1.CreateOptions{}); err == nil || apierrors.IsAlreadyExists(err) {
						break
					}
					pause(ctx, 50*time.Millisecond)
				}
				if f != nothing {
					pause(ctx, 100*time.Millisecond) // else all were there before the first kill was over
				}
			}
		})
	}
	defer creating.Wait()
	for k := range kills {
		if f == nothing {
			break
		}
		for int(next.Load()) < n*(k+1)/(kills+1) && ctx.Err() == nil {
			pause(ctx, 10*time.Millisecond)
		}
		if err := kill(); err != nil {
			return err
		}
	}
	return nil
}

// ended waits until n runs are terminal, or it is too late, and returns all that there are.
func (w *world) ended(ctx context.Context, n int, latest time.Time) ([]v1alpha1.AgentRun, error) {
	for {
		list, err := w.Runs.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err == nil {
			done := 0
			for _, run := range list.Items {
				if run.Status.Phase.Progress() == status.Done {
					done++
				}
			}
			if done == n || time.Now().After(latest) {
				return list.Items, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// told returns how many failed runs have no event, once all have one or it is too late.
func (w *world) told(ctx context.Context, runs []v1alpha1.AgentRun, latest time.Time) (silent int, err error) {
	for {
		events, err := w.Kube.EventsV1().Events(w.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		about := map[types.UID]bool{}
		for _, e := range events.Items {
			about[e.Regarding.UID] = true
		}
		silent = 0
		for _, run := range runs {
			if truth(&run) == v1alpha1.Failed && !about[run.UID] {
				silent++
			}
		}
		if silent == 0 || time.Now().After(latest) {
			return silent, nil
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// watchJobs notes every Job that there ever is for a run, until ctx ends.
func (w *world) watchJobs(ctx context.Context) (byRun func() map[string]map[types.UID]bool, err error) {
	var mu sync.Mutex
	jobs := map[string]map[types.UID]bool{}
	factory := informers.NewSharedInformerFactoryWithOptions(w.Kube, 0, informers.WithNamespace(w.Namespace))
	if _, err := factory.Batch().V1().Jobs().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		job, ok := obj.(*batchv1.Job)
		if !ok {
			return
		}
		owner := metav1.GetControllerOf(job)
		if owner == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if jobs[owner.Name] == nil {
			jobs[owner.Name] = map[types.UID]bool{}
		}
		jobs[owner.Name][job.UID] = true
	}}); err != nil {
		return nil, err
	}
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	return func() map[string]map[types.UID]bool {
		mu.Lock()
		defer mu.Unlock()
		return jobs
	}, nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
