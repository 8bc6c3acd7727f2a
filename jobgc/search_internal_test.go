// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/world"
)

// TestSearch_OfASmallWorld visits all states that one run can reach within the
// budgets of each row, by replay of the real Step. In each state the rules of
// model.Check hold, and from each state the run ends right once faults stop.
//
// Two replicas whose caches of runs and Jobs are late act one call at a time.
// A replica that acts during the call of the other has no cache of Jobs: with
// both there are more than 20,000 states.
//
//req:shows J2 J3 J4
func TestSearch_OfASmallWorld(t *testing.T) {
	const finalizer = "example.com/result"
	short := Retention{SucceededTTL: 90 * time.Second, FailedTTL: 90 * time.Second}
	cancels := person("cancels", world.Request{
		Verb: "patch", Key: theRun, PatchType: types.MergePatchType, Body: []byte(`{"spec":{"cancel":true}}`),
	})
	suspends := person("suspends", world.Request{
		Verb: "patch", Key: theRun, PatchType: types.MergePatchType, Body: []byte(`{"spec":{"suspend":true}}`),
	})
	resumes := person("resumes", world.Request{
		Verb: "patch", Key: theRun, PatchType: types.MergePatchType, Body: []byte(`{"spec":{"suspend":false}}`),
	})
	deletesJob := person("deletes the Job", world.Request{Verb: "delete", Key: theJob, Delete: background()})
	deletesEarlier := person("deletes the earlier Job", world.Request{Verb: "delete", Key: theEarlier, Delete: background()})
	deletesRun := person("deletes the run", world.Request{Verb: "delete", Key: theRun, Delete: background()})
	for _, m := range []runModel{
		{name: "kills", budgets: world.Budgets{Crashes: 1, Stale: 1, Faults: 1}},
		{name: "faults", budgets: world.Budgets{Faults: 2}},
		{name: "late writes", budgets: world.Budgets{Late: 1, Waits: 1}},
		{name: "late writes and kills", budgets: world.Budgets{Late: 1, Crashes: 1}},
		{name: "kills, held", hold: finalizer, budgets: world.Budgets{Crashes: 1, Stale: 1, Faults: 1}},
		{name: "uncached", isUncached: true, budgets: world.Budgets{Crashes: 1, Faults: 1}},
		{name: "failing", fails: true, budgets: world.Budgets{Crashes: 1, Faults: 1}},
		{name: "two replicas", replicas: 2},
		{name: "two replicas, uncached", replicas: 2, isUncached: true, budgets: world.Budgets{Switches: 1, Pauses: 1}},
		{name: "cancel", acts: actors{cancels}, budgets: world.Budgets{Acts: 1, Crashes: 1, Stale: 1}},
		{name: "cancel, faults", acts: actors{cancels}, budgets: world.Budgets{Acts: 1, Faults: 1}},
		{name: "cancel, late writes", acts: actors{cancels}, budgets: world.Budgets{Acts: 1, Late: 1}},
		{name: "cancel, held", hold: finalizer, acts: actors{cancels}, budgets: world.Budgets{Acts: 1, Crashes: 1}},
		{name: "resume", isSuspended: true, acts: actors{resumes}, budgets: world.Budgets{Acts: 1}},
		{name: "suspend, kills", acts: actors{suspends}, budgets: world.Budgets{Acts: 1, Crashes: 1, Stale: 1}},
		{name: "suspend, faults", acts: actors{suspends}, budgets: world.Budgets{Acts: 1, Faults: 1}},
		{name: "suspend, late writes", acts: actors{suspends}, budgets: world.Budgets{Acts: 1, Late: 1}},
		{name: "deleted Job", acts: actors{deletesJob}, budgets: world.Budgets{Acts: 1, Crashes: 1, Stale: 1}},
		{name: "deleted Job, held", hold: finalizer, acts: actors{deletesJob}, budgets: world.Budgets{Acts: 1, Crashes: 1, Faults: 1}},
		{name: "deleted run, held", hold: finalizer, acts: actors{deletesRun}, budgets: world.Budgets{Acts: 1, Crashes: 1}},
		{name: "deleted run and Job, held", hold: finalizer, acts: actors{deletesRun, deletesJob}, budgets: world.Budgets{Acts: 2}},
		{name: "taken over", jobName: "nightly", budgets: world.Budgets{Crashes: 1, Stale: 1}},
		{name: "taken over, held", jobName: "nightly", hold: finalizer, budgets: world.Budgets{Crashes: 1, Faults: 1}},
		{name: "older owner", hasEarlier: true, acts: actors{deletesEarlier}, budgets: world.Budgets{Acts: 1, Crashes: 1, Faults: 1}},
		{name: "policy", policy: 100, budgets: world.Budgets{Crashes: 1, Faults: 1}},
		{name: "policy, waits", policy: 100, budgets: world.Budgets{Waits: 1}},
		{name: "policy, held", policy: 100, hold: finalizer, budgets: world.Budgets{Faults: 1}},
		{name: "template TTL of 0", asked: ptr.To[int32](0), budgets: world.Budgets{Crashes: 1, Faults: 1}},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.retention = short
			report, err := m.model(t).Search(t)
			t.Log(report)
			require.NoError(t, err)
			assert.True(t, report.IsComplete)
		})
	}
}

type actors []world.Actor

var (
	theRun = world.Key{Resource: "runs.example.com", Namespace: "ns", Name: "run"}
	theJob = world.Key{Resource: world.JobResource, Namespace: "ns", Name: "run-00000001-0000-4000-8000-000000000000"}

	// theEarlier is the Job of an earlier version, with a name that the request
	// does not have.
	theEarlier = world.Key{Resource: world.JobResource, Namespace: "ns", Name: "earlier"}
)

func background() metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
}

// person is someone who may send a request at any time.
func person(name string, r world.Request) world.Actor {
	return world.Actor{Name: name, IsRude: true, Next: func(s *world.Store) ([]world.Request, time.Time) {
		if s.Object(r.Key) == nil {
			return nil, time.Time{}
		}
		return []world.Request{r}, time.Time{}
	}}
}

// run is the kind of the owner.
type run struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   runSpec   `json:"spec"`
	Status runStatus `json:"status"`
}

type runSpec struct {
	Cancel  bool  `json:"cancel,omitempty"`
	Suspend *bool `json:"suspend,omitempty"`
}

// runStatus has the end of the run: an Outcome, Cancelled, or Lost.
type runStatus struct {
	Job *Ref   `json:"job,omitempty"`
	End string `json:"end,omitempty"`
}

const lostEnd = "Lost"

func (r *run) DeepCopyInto(out *run) {
	*out = *r
	out.ObjectMeta = *r.DeepCopy()
	out.Status.Job = r.Status.Job.DeepCopy()
}

// runModel is one row of the search.
type runModel struct {
	name        string
	hold        string // Options.Finalizer
	replicas    int
	isUncached  bool
	fails       bool
	jobName     string // Request.Name; its Job is there, and has a TTL
	isSuspended bool   // the run begins so
	hasEarlier  bool   // the run controls the Job of an earlier version
	policy      int    // the TTL that a policy sets on each new Job
	asked       *int32 // the TTL that the Job is built with
	retention   Retention
	acts        actors
	budgets     world.Budgets
}

// model is the world of a row.
func (m runModel) model(t *testing.T) world.Model[runFacts] {
	t.Helper()
	result := batchv1.JobComplete
	if m.fails {
		result = batchv1.JobFailed
	}
	out := world.Model[runFacts]{
		Name:    m.name,
		Store:   world.Store{Now: world.Began(), HasStatus: map[string]bool{theRun.Resource: true}},
		Cached:  m.cached(),
		Actors:  append(slices.Clone(m.acts), world.Jobs(result), world.TTL(), world.GarbageCollector()),
		Facts:   runFacts{earlier: m.hasEarlier},
		Note:    m.note,
		Check:   func(_ *world.Store, f runFacts) string { return f.wrong },
		Right:   m.right,
		Budgets: m.budgets, MaxStates: 20_000, MaxCalm: 200,
	}
	for range max(m.replicas, 1) {
		out.Replicas = append(out.Replicas, m.begin)
	}
	owner := world.Request{Verb: "create", Key: theRun, Body: []byte(`{"spec":{}}`)}
	if m.isSuspended {
		owner.Body = []byte(`{"spec":{"suspend":true}}`)
	}
	answer, _ := out.Store.Do(owner)
	require.NoError(t, answer.Err)
	require.Equal(t, theJob.Name, "run-"+string(answer.Object.UID))
	if m.jobName != "" {
		job := m.build(answer.Object.UID)
		job.Spec.TTLSecondsAfterFinished = ptr.To[int32](100)
		body, err := json.Marshal(job)
		require.NoError(t, err)
		answer, _ = out.Store.Do(world.Request{Verb: "create", Key: m.job(), Body: body})
		require.NoError(t, answer.Err)
	}
	if m.hasEarlier {
		body, err := json.Marshal(m.build(answer.Object.UID))
		require.NoError(t, err)
		answer, _ = out.Store.Do(world.Request{Verb: "create", Key: theEarlier, Body: body})
		require.NoError(t, answer.Err)
	}
	if m.policy > 0 {
		out.Store.Admit = m.admit
	}
	return out
}

// admit is a policy that sets the TTL of each new Job, and drops finalizers.
func (m runModel) admit(_ time.Time, r world.Request, fields map[string]any) error {
	spec, ok := fields["spec"].(map[string]any)
	if ok && r.Verb == "create" && r.Resource == theJob.Resource {
		spec["ttlSecondsAfterFinished"] = int64(m.policy)
		delete(fields["metadata"].(map[string]any), "finalizers")
	}
	return nil
}

func (m runModel) cached() []string {
	if m.isUncached {
		return []string{theRun.Resource}
	}
	return []string{theRun.Resource, theJob.Resource}
}

func (m runModel) job() world.Key {
	key := theJob
	if m.jobName != "" {
		key.Name = m.jobName
	}
	return key
}

func (m runModel) build(owner types.UID) *batchv1.Job {
	job := &batchv1.Job{}
	job.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Run", Name: theRun.Name, UID: owner, Controller: ptr.To(true),
	}}
	job.Spec.TTLSecondsAfterFinished = m.asked
	return job
}

// begin starts a process: the reconciler in the package comment.
func (m runModel) begin(api *world.API) world.Process {
	runs := world.NewClient[run](api, theRun.Resource, theRun.Namespace)
	client := func(namespace string) worldJobs {
		return worldJobs{world.NewClient[batchv1.Job](api, theJob.Resource, namespace)}
	}
	var cached Cached = worldCache{api}
	if m.isUncached {
		cached = nil
	}
	g, err := New(client, cached, Options{Finalizer: m.hold, Retention: m.retention})
	if err != nil {
		return world.Process{Reconcile: func(context.Context) (time.Duration, error) { return 0, err }}
	}
	reconcile := func(ctx context.Context) (time.Duration, error) {
		after, err := m.reconcile(ctx, api, g, runs)
		if err != nil || m.hold == "" {
			return after, err
		}
		return m.sweep(ctx, api, g, runs, after)
	}
	return world.Process{Reconcile: reconcile, Memory: func() string { return remembers(g) }}
}

func (m runModel) reconcile(ctx context.Context, api *world.API, g *Guard, runs world.Client[run, *run]) (time.Duration, error) {
	r, err := world.Cached[run](api, theRun.Resource, theRun.Namespace, theRun.Name)
	if err != nil {
		return 0, ignoreNotFound(err)
	}
	before := new(run)
	r.DeepCopyInto(before)
	ref, found, err := g.Step(ctx, Request{
		Owner: r, Ref: r.Status.Job, Done: r.Status.End != "", Cancel: r.Spec.Cancel, Suspend: r.Spec.Suspend, Name: m.jobName,
		Job: func() (*batchv1.Job, error) { return m.build(r.UID), nil },
		Stored: func(ctx context.Context) (metav1.Object, *Ref, bool, error) {
			live, err := runs.Get(ctx, theRun.Name, metav1.GetOptions{})
			if err != nil {
				return nil, nil, false, err
			}
			return live, live.Status.Job, live.Status.End != "", nil
		},
	})
	if err != nil {
		return 0, err
	}
	r.Status.Job = ref
	if r.Status.End == "" {
		r.Status.End = endBy(ref, found)
	}
	if ptr.Deref(before.Status.Job, Ref{}) == ptr.Deref(r.Status.Job, Ref{}) && before.Status.End == r.Status.End {
		return found.After, nil
	}
	_, err = runs.UpdateStatus(ctx, r, metav1.UpdateOptions{})
	return found.After, err
}

// endBy is how a run ends by an Observation; empty if it does not.
func endBy(ref *Ref, found Observation) string {
	switch {
	case found.State == Cancelled:
		return string(Cancelled)
	case found.Lost():
		return lostEnd
	case ref != nil:
		return string(ref.Outcome)
	}
	return ""
}

// sweep is a sweep after each reconcile.
func (m runModel) sweep(
	ctx context.Context, api *world.API, g *Guard, runs world.Client[run, *run], after time.Duration,
) (time.Duration, error) {
	cached := func(context.Context, string, metav1.OwnerReference) (metav1.Object, error) {
		return world.Cached[run](api, theRun.Resource, theRun.Namespace, theRun.Name)
	}
	stored := func(ctx context.Context, _ string, ref metav1.OwnerReference) (metav1.Object, error) {
		return runs.Get(ctx, ref.Name, metav1.GetOptions{})
	}
	_, err := g.releaseOrphans(ctx, cached, stored)
	return after, err
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// remembers describes the memory of a Guard.
func remembers(g *Guard) string {
	text := ""
	now := time.Now()
	for owner, e := range g.refs.entries {
		if now.Before(e.until) {
			text += fmt.Sprint("ref ", owner, " ", e.value.UID, " ", e.until.Sub(now), ";") // which says CreatedAt too
		}
	}
	for job, e := range g.released.entries {
		if now.Before(e.until) {
			text += fmt.Sprint("released ", job, " ", e.until.Sub(now), ";")
		}
	}
	for namespace, e := range g.owned.entries {
		if now.Before(e.until) {
			text += fmt.Sprint("owned ", namespace, " ", e.value, " ", e.until.Sub(now), ";")
		}
	}
	return text
}

// worldJobs is a client of Jobs.
type worldJobs struct {
	world.Client[batchv1.Job, *batchv1.Job]
}

func (c worldJobs) List(ctx context.Context, _ metav1.ListOptions) (*batchv1.JobList, error) {
	items, err := c.Client.List(ctx)
	return &batchv1.JobList{Items: items}, err
}

// worldCache is the cache of a process.
type worldCache struct{ api *world.API }

func (c worldCache) Get(_ context.Context, namespace, name string) (*batchv1.Job, error) {
	return world.Cached[batchv1.Job](c.api, theJob.Resource, namespace, name)
}

func (c worldCache) List(context.Context) ([]*batchv1.Job, error) {
	var jobs []*batchv1.Job
	for _, o := range c.api.CachedList(theJob.Resource) {
		job, err := world.As[batchv1.Job](o)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}
