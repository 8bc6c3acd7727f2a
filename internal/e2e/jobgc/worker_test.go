// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// workerVariable makes this test program a replica of guards, so that there is
// a process to kill. Its runs are the ConfigMaps of a namespace. Each has the
// Ref of its Job, and its end.
const workerVariable = "JOBGC_E2E_WORKER"

// assignment is the input of a worker.
type assignment struct {
	Kubeconfig, Namespace string

	Lag time.Duration // of its cache of owners, at most
}

func workerMain(said string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var a assignment
	err := json.Unmarshal([]byte(said), &a)
	if err == nil {
		err = work(ctx, a)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

// worker is a controller in the order of work that the package's documentation
// gives.
type worker struct {
	kube  kubernetes.Interface
	guard *guard
}

// work is one life of a replica. It works until it is killed.
func work(ctx context.Context, a assignment) error {
	config, err := clientcmd.BuildConfigFromFlags("", a.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 200 // all runs are worked on at the same time
	w := &worker{}
	if w.kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	jobs, runs := batchinformers.NewJobInformer(w.kube, a.Namespace, 0, nil), coreinformers.NewConfigMapInformer(w.kube, a.Namespace, 0, nil)
	if w.guard, err = jobgc.New(w.kube.BatchV1().Jobs, jobs, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: time.Hour}}); err != nil {
		return err
	}
	defer runInformers(ctx, jobs, runs)()
	late := map[string]*corev1.ConfigMap{} // an older state of the owners' cache
	for ctx.Err() == nil {
		for _, item := range runs.GetStore().List() {
			run, ok := item.(*corev1.ConfigMap)
			if !ok || run.Labels["run"] == "" {
				continue
			}
			if late[run.Name] == nil || a.Lag == 0 || rand.N(a.Lag) < 50*time.Millisecond {
				late[run.Name] = run
			}
			if err := w.step(ctx, late[run.Name].DeepCopy()); err != nil {
				suite.Wait(ctx, 10*time.Millisecond) // the next round tries again
			}
		}
		suite.Wait(ctx, 20*time.Millisecond)
	}
	return ctx.Err()
}

// step is one step with a copy of a run, which may be stale, and the write of
// its result.
func (w *worker) step(ctx context.Context, run *corev1.ConfigMap) error {
	ref, done, err := recordOf(run)
	if err != nil || run.Data["lost"] != "" {
		return err
	}
	next, found, err := w.guard.Step(ctx, jobgc.Request{
		Owner: run, Ref: ref, Done: done,
		Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			live, err := w.kube.CoreV1().ConfigMaps(run.Namespace).Get(ctx, run.Name, metav1.GetOptions{})
			if err != nil {
				return nil, nil, false, err
			}
			ref, done, err := recordOf(live)
			return live, ref, done, err
		},
		Job: func() (*batchv1.Job, error) { return jobOf(run) },
	})
	switch {
	case err != nil:
		return err
	case next != ref:
		return w.save(ctx, run, *next, "")
	case !done && found.Lost():
		return w.save(ctx, run, *ref, string(found.State)+" by "+found.Source)
	}
	return nil
}

// jobOf is the Job of a run, with the TTL that the run asks for.
func jobOf(run *corev1.ConfigMap) (*batchv1.Job, error) {
	seconds, err := strconv.ParseInt(run.Annotations[ttlAnnotation], 10, 32)
	return newJob(run, run.Name, ttl(int32(seconds))), err
}

// recordOf is the run's record of its Job. A run without a record has a Job of
// the run's name, for the tests to find.
func recordOf(run *corev1.ConfigMap) (ref *jobgc.Ref, done bool, err error) {
	ref = &jobgc.Ref{Namespace: run.Namespace, Name: run.Name}
	if has := run.Data["ref"]; has != "" {
		err = json.Unmarshal([]byte(has), ref)
	}
	return ref, ref.Outcome != "" || run.Data["lost"] != "", err
}

// save persists what is known of a run. A run whose result is lost says how.
func (w *worker) save(ctx context.Context, run *corev1.ConfigMap, ref jobgc.Ref, lost string) error {
	text, err := json.Marshal(ref)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]map[string]string{
		"data": {"ref": string(text), "lost": lost}, "metadata": {"resourceVersion": run.ResourceVersion},
	})
	if err != nil {
		return err
	}
	_, err = w.kube.CoreV1().ConfigMaps(run.Namespace).Patch(ctx, run.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// watchJobs notes the uids of all Jobs that there ever are, by name, until the
// function that it returns is called.
func (s *stage) watchJobs(t *testing.T) (seen func() map[string]map[types.UID]bool) {
	t.Helper()
	jobs := map[string]map[types.UID]bool{}
	informer := batchinformers.NewJobInformer(s.Kube, s.Namespace, 0, nil)
	_, err := informer.AddEventHandler(onJob(func(job *batchv1.Job) {
		if jobs[job.Name] == nil {
			jobs[job.Name] = map[types.UID]bool{}
		}
		jobs[job.Name][job.UID] = true
	}))
	require.NoError(t, err)
	stop := runInformers(t.Context(), informer)
	t.Cleanup(stop)
	return func() map[string]map[types.UID]bool {
		stop()
		return jobs
	}
}

// onJob calls do with every state of every Job but the last one of a deleted
// Job.
type onJob func(*batchv1.Job)

func (do onJob) OnAdd(obj any, _ bool) {
	if job, ok := obj.(*batchv1.Job); ok {
		do(job)
	}
}
func (do onJob) OnUpdate(_, obj any) { do.OnAdd(obj, false) }
func (do onJob) OnDelete(any)        {}

// ranOnce says that there was one Job for each of so many runs.
func ranOnce(t *testing.T, seen map[string]map[types.UID]bool, runs int) (twice int) {
	t.Helper()
	assert.Len(t, seen, runs)
	for _, uids := range seen {
		if len(uids) != 1 {
			twice++
		}
	}
	assert.Zero(t, twice, "runs with more than one Job")
	return twice
}
