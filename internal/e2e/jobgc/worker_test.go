// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// workerVariable makes this test program a controller, so that there is a
// process to kill. Its runs are the ConfigMaps of a namespace. Each has the Ref
// of its Job, and its end.
const workerVariable = "JOBGC_E2E_WORKER"

// points are the moments at which a worker can die.
type point string

const (
	created  point = "created"  // the Job is created, its uid not persisted
	saved    point = "saved"    // the uid is persisted, the Job not looked at
	recorded point = "recorded" // the outcome is persisted, the Job not released
)

// assignment is the input of a worker.
type assignment struct {
	Kubeconfig, Namespace string
	DieAt                 point // by SIGKILL, when all runs are there; empty for never

	Replica bool          // of two; it works until it is killed
	Lag     time.Duration // of its cache of owners, at most
}

// keep is the retention of workers.
func keep() jobgc.Retention {
	return jobgc.Retention{SucceededTTL: time.Hour, FailedTTL: 2 * time.Hour, UnrecordedTTL: 7 * 24 * time.Hour}
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

// worker is a whole controller in the order of work that the package's
// documentation gives.
type worker struct {
	assignment

	kube  kubernetes.Interface
	guard *guard
	runs  int64
	there atomic.Int64 // at the point of death
}

func work(ctx context.Context, a assignment) error {
	config, err := clientcmd.BuildConfigFromFlags("", a.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 200 // all runs are worked on at the same time
	w := &worker{assignment: a}
	if w.kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if a.Replica {
		return replicate(ctx, w)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(w.kube, 0, informers.WithNamespace(a.Namespace))
	informer := factory.Batch().V1().Jobs().Informer()
	if w.guard, err = jobgc.New(w.kube.BatchV1().Jobs, informer, jobgc.Options{Retention: keep()}); err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	list, err := w.kube.CoreV1().ConfigMaps(a.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "run=yes"})
	if err != nil {
		return err
	}
	w.runs = int64(len(list.Items))
	errs := make(chan error)
	for i := range list.Items {
		go func() { errs <- w.reconcile(ctx, &list.Items[i]) }() // those at the point of death stay there
	}
	for range list.Items {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// reconcile takes one run to its end.
func (w *worker) reconcile(ctx context.Context, run *corev1.ConfigMap) error {
	for ctx.Err() == nil {
		next, after, err := w.step(ctx, run)
		if err != nil || next == nil {
			return err
		}
		run = next
		suite.Wait(ctx, after)
	}
	return ctx.Err()
}

// step is one step with a copy of a run, which may be stale, and the write of
// its result. It returns the run and when to look again, or nil at its end.
func (w *worker) step(ctx context.Context, run *corev1.ConfigMap) (*corev1.ConfigMap, time.Duration, error) {
	ref, done, err := recordOf(run)
	if err != nil || run.Data["lost"] != "" {
		return nil, 0, err
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
		return nil, 0, err
	case next != ref:
		w.at(created, ref.UID == "")
		if run, err = w.save(ctx, run, *next, ""); err != nil {
			return nil, 0, err
		}
		w.at(saved, ref.UID == "")
		w.at(recorded, next.Outcome != "")
		return run, 0, nil
	case done: // and released
		return nil, 0, nil
	case found.Lost():
		_, err := w.save(ctx, run, *ref, string(found.State)+" by "+found.Source)
		return nil, 0, err
	}
	return run, max(found.After, 50*time.Millisecond), nil
}

// jobOf is the Job of a run, with the TTL that the run asks for.
func jobOf(run *corev1.ConfigMap) (*batchv1.Job, error) {
	asked := run.Annotations[ttlAnnotation]
	if asked == "" {
		return newJob(run, run.Name), nil
	}
	seconds, err := strconv.ParseInt(asked, 10, 32)
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
func (w *worker) save(ctx context.Context, run *corev1.ConfigMap, ref jobgc.Ref, lost string) (*corev1.ConfigMap, error) {
	text, err := json.Marshal(ref)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(map[string]map[string]string{
		"data": {"ref": string(text), "lost": lost}, "metadata": {"resourceVersion": run.ResourceVersion},
	})
	if err != nil {
		return nil, err
	}
	return w.kube.CoreV1().ConfigMaps(run.Namespace).Patch(ctx, run.Name, types.MergePatchType, patch, metav1.PatchOptions{})
}

// at is where the worker dies if it got there and its assignment names the
// point. It ends without an error, as if the kernel killed it.
func (w *worker) at(p point, there bool) {
	if !there || w.DieAt != p {
		return
	}
	if w.there.Add(1) == w.runs {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	select {}
}

// work runs a worker on the stage's runs as a process, until it ends or dies.
func (s *stage) work(t *testing.T, dieAt point) {
	t.Helper()
	said, err := json.Marshal(assignment{Kubeconfig: plane.Kubeconfig(), Namespace: s.namespace, DieAt: dieAt})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), workerVariable+"="+string(said))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	require.NoError(t, ctx.Err(), "the worker took too long: %s", stderr.String())
	if dieAt == "" {
		require.NoError(t, err, stderr.String())
		return
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "the worker must be killed at %s: %v %s", dieAt, err, stderr.String())
}

// record is what a run's controller has persisted.
func (s *stage) record(t *testing.T, run string) (ref jobgc.Ref, data map[string]string) {
	t.Helper()
	cm, err := s.kube.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), run, metav1.GetOptions{})
	require.NoError(t, err)
	if cm.Data["ref"] != "" {
		require.NoError(t, json.Unmarshal([]byte(cm.Data["ref"]), &ref))
	}
	return ref, cm.Data
}

// watchJobs notes the uids of all Jobs that there ever are, by name, until the
// function that it returns is called.
func (s *stage) watchJobs(t *testing.T) (seen func() map[string]map[types.UID]bool) {
	t.Helper()
	jobs := map[string]map[types.UID]bool{}
	factory := informers.NewSharedInformerFactoryWithOptions(s.kube, 0, informers.WithNamespace(s.namespace))
	_, err := factory.Batch().V1().Jobs().Informer().AddEventHandler(onJob(func(job *batchv1.Job) {
		if jobs[job.Name] == nil {
			jobs[job.Name] = map[types.UID]bool{}
		}
		jobs[job.Name][job.UID] = true
	}))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	t.Cleanup(factory.Shutdown)
	return func() map[string]map[types.UID]bool {
		cancel()
		factory.Shutdown()
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
