// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/world"
)

// The search knows one run. Its annotation says how far the work is: 1 is
// waiting, 2 is running, 3 is done. A reconcile reports that of the copy that
// it read, by a phase, a condition and Facts.

const (
	runsResource = "runs.example.com"
	truthKey     = "truth"
)

var runKey = world.Key{Resource: runsResource, Namespace: "default", Name: "a"}

type worldRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              map[string]string `json:"spec,omitempty"`
	Status            worldStatus       `json:"status,omitzero"`
}

type worldStatus struct {
	Stamp `json:",inline"`

	Phase      int                `json:"phase,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (r *worldRun) DeepCopyObject() runtime.Object { return r.DeepCopy() }

func (r *worldRun) DeepCopy() *worldRun {
	out := new(worldRun)
	r.DeepCopyInto(out)
	return out
}

func (r *worldRun) DeepCopyInto(out *worldRun) {
	raw, _ := json.Marshal(r)
	*out = worldRun{}
	_ = json.Unmarshal(raw, out)
}

func (r *worldRun) truth() int {
	n, _ := strconv.Atoi(r.Annotations[truthKey])
	return n
}

// report sets the status that a reconcile computes.
func (r *worldRun) report() Facts {
	r.Status.Phase = r.truth()
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Truth" + r.Annotations[truthKey]}
	SetCondition(&r.Status.Conditions, ready, time.Now())
	return Facts{Progress: Progress(r.truth() - 1)}
}

// committer is a controller that writes by a Writer.
func committer(api *world.API) world.Process {
	client := world.NewClient[worldRun](api, runsResource, runKey.Namespace)
	writer := ForResource(func(string) world.Client[worldRun, *worldRun] { return client })
	writer.Owned = []string{"Ready"}
	reconcile := func(ctx context.Context) (time.Duration, error) {
		before, err := world.Cached[worldRun](api, runsResource, runKey.Namespace, runKey.Name)
		if err != nil {
			return 0, ignoreNotFound(err)
		}
		after := before.DeepCopy()
		facts := after.report()
		_, err = writer.Commit(ctx, before, after, facts)
		return 0, err
	}
	remembered := func() string {
		m := writer.client.memory
		text := ""
		for uid, last := range m.writes {
			text += fmt.Sprintf("%s %s %d %d %t;", uid, time.Since(last.at), last.version, last.lost, last.isUnanswered)
		}
		return text
	}
	return world.Process{Reconcile: reconcile, Memory: remembered}
}

// updater is a controller that reads the object again after a conflict, and
// writes the same status.
func updater(api *world.API) world.Process {
	client := world.NewClient[worldRun](api, runsResource, runKey.Namespace)
	return world.Process{Reconcile: func(ctx context.Context) (time.Duration, error) {
		run, err := world.Cached[worldRun](api, runsResource, runKey.Namespace, runKey.Name)
		if err != nil {
			return 0, ignoreNotFound(err)
		}
		was := run.DeepCopy()
		run.report()
		_, _ = run.Status.Observe(Facts{Progress: Progress(run.truth() - 1)}, run.Generation, time.Now())
		if fmt.Sprint(was.Status) == fmt.Sprint(run.Status) {
			return 0, nil
		}
		_, err = client.UpdateStatus(ctx, run, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			return 0, err
		}
		live, err := client.Get(ctx, run.Name, metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		live.Status = run.Status
		_, err = client.UpdateStatus(ctx, live, metav1.UpdateOptions{})
		return 0, err
	}}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// reported is what the status of the run has said.
type reported struct {
	uid               types.UID
	phase             int
	observed          int64
	started, finished string
	wrong             string
}

// note holds each write to the contract.
func note(t *testing.T, f reported, w world.Write) reported {
	t.Helper()
	if w.Key != runKey || w.After == nil {
		return reported{}
	}
	run, err := world.As[worldRun](w.After)
	require.NoError(t, err)
	if run.UID != f.uid {
		f = reported{uid: run.UID}
	}
	next := reported{
		uid: run.UID, phase: run.Status.Phase, observed: run.Status.ObservedGeneration,
		started: timeText(run.Status.StartedAt), finished: timeText(run.Status.FinishedAt),
	}
	reason := ""
	for _, c := range run.Status.Conditions {
		if c.Type == "Ready" {
			reason = c.Reason
		}
	}
	switch {
	case next.phase < f.phase:
		next.wrong = "an older status replaced a newer one"
	case next.observed < f.observed:
		next.wrong = "observedGeneration went back"
	case f.started != "" && next.started != f.started, f.finished != "" && next.finished != f.finished:
		next.wrong = "a time has moved"
	case next.phase != 0 && reason != "Truth"+strconv.Itoa(next.phase):
		next.wrong = "phase and Ready are of two reconciles"
	case (next.phase == 3) != (next.finished != ""):
		next.wrong = "phase and finishedAt are of two reconciles"
	}
	return next
}

func timeText(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().String()
}

// stored returns the run; nil for none.
func stored(s *world.Store) *worldRun {
	if s.Object(runKey) == nil {
		return nil
	}
	run, err := world.As[worldRun](s.Object(runKey))
	if err != nil {
		return nil
	}
	return run
}

// work is the actor whose work the run is about.
func work() world.Actor {
	return world.Actor{Name: "work", Next: func(s *world.Store) ([]world.Request, time.Time) {
		run := stored(s)
		if run == nil || run.truth() == 3 {
			return nil, time.Time{}
		}
		body := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, truthKey, run.truth()+1)
		return []world.Request{{Verb: "patch", Key: runKey, PatchType: types.MergePatchType, Body: []byte(body)}}, time.Time{}
	}}
}

// binder is another controller, which sets one condition.
func binder() world.Actor {
	return world.Actor{Name: "binder", Next: func(s *world.Store) ([]world.Request, time.Time) {
		run := stored(s)
		if run == nil || apimeta.FindStatusCondition(run.Status.Conditions, "Bound") != nil {
			return nil, time.Time{}
		}
		bound := metav1.Condition{Type: "Bound", Status: "True", Reason: "Bound", LastTransitionTime: metav1.NewTime(s.Now)}
		conds := slices.Concat(run.Status.Conditions, []metav1.Condition{bound})
		body, _ := json.Marshal(map[string]any{"status": map[string]any{"conditions": conds}})
		return []world.Request{{Verb: "patch", Key: runKey, Subresource: "status", PatchType: types.MergePatchType, Body: body}}, time.Time{}
	}}
}

// person edits the spec, or deletes the run and makes one of the same name.
func person() world.Actor {
	return world.Actor{Name: "person", IsRude: true, Next: func(s *world.Store) ([]world.Request, time.Time) {
		if s.Object(runKey) == nil {
			return []world.Request{newRun()}, time.Time{}
		}
		edit := world.Request{Verb: "patch", Key: runKey, PatchType: types.MergePatchType, Body: []byte(`{"spec":{"image":"new"}}`)}
		return []world.Request{edit, {Verb: "delete", Key: runKey}}, time.Time{}
	}}
}

func newRun() world.Request {
	return world.Request{Verb: "create", Key: runKey, Body: []byte(`{"metadata":{"annotations":{"truth":"1"}}}`)}
}

func searchModel(t *testing.T, budgets world.Budgets, replicas ...func(*world.API) world.Process) world.Model[reported] {
	t.Helper()
	m := world.Model[reported]{
		Name: "status", Replicas: replicas, Cached: []string{runsResource}, Budgets: budgets,
		Actors:    []world.Actor{work(), person()},
		Note:      func(f reported, w world.Write) reported { return note(t, f, w) },
		Check:     func(_ *world.Store, f reported) string { return f.wrong },
		MaxStates: 60_000, MaxCalm: 100,
		Right: func(s *world.Store, _ reported) string {
			run := stored(s)
			if run == nil {
				return ""
			}
			status := run.Status
			isRight := status.Phase == 3 && status.ObservedGeneration == run.Generation && status.FinishedAt != nil
			if !isRight {
				return fmt.Sprintf("generation %d has the status %+v", run.Generation, status)
			}
			return ""
		},
	}
	m.Store.Now = world.Began()
	m.Store.HasStatus = map[string]bool{runsResource: true}
	answer, _ := m.Store.Do(newRun())
	require.NoError(t, answer.Err)
	return m
}

// pruneAndDefault is a schema whose conditions have no generation, and which
// has a default for a field of the status.
func pruneAndDefault(_ time.Time, _ world.Request, fields map[string]any) error {
	status, _ := fields["status"].(map[string]any)
	if status != nil && status["note"] == nil {
		status["note"] = "default"
	}
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		condition, _ := item.(map[string]any)
		delete(condition, generationField)
	}
	return nil
}

// TestSearch_NoLateWriteReplacesANewerStatus visits all states that one or two
// instances of a controller reach within the budgets, with another writer and a
// person. An instance may stop between a read and a write while the other one
// goes on.
//
//req:shows S1 S3
func TestSearch_NoLateWriteReplacesANewerStatus(t *testing.T) {
	for _, tc := range []struct {
		budgets   world.Budgets
		instances int
		isBound   bool // another controller sets a condition
		isStrict  bool // the schema prunes and defaults
	}{
		{world.Budgets{Switches: 1}, 2, false, false},
		{world.Budgets{Pauses: 1}, 2, false, true},
		{world.Budgets{Pauses: 1}, 1, true, false},
		{world.Budgets{Faults: 1}, 1, true, false},
		{world.Budgets{Faults: 1}, 1, false, true},
		{world.Budgets{Crashes: 1, Stale: 1}, 1, false, false},
		{world.Budgets{Late: 1}, 1, false, false},
		{world.Budgets{Acts: 1}, 1, false, false},
	} {
		replicas := []func(*world.API) world.Process{committer, committer}[:tc.instances]
		m := searchModel(t, tc.budgets, replicas...)
		if tc.isBound {
			m.Actors = append(m.Actors, binder())
		}
		if tc.isStrict {
			m.Store.Admit = pruneAndDefault
		}
		report, err := m.Search(t)
		t.Log(report)
		require.NoError(t, err)
		assert.True(t, report.IsComplete)
	}
}

// TestSearch_FindsTheLateWriteOfAnUpdate: a search that must fail does.
func TestSearch_FindsTheLateWriteOfAnUpdate(t *testing.T) {
	_, err := searchModel(t, world.Budgets{Switches: 1}, updater, updater).Search(t)
	require.Error(t, err)
	t.Log(err)
}
