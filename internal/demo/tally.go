// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// tally counts what a controller does with its runs. A watch calls change.
type tally struct {
	*controller

	reconciles float64 // of all its processes
	jobs       play.Jobs

	mu       sync.Mutex // of the fields below
	runs     map[types.UID]*v1alpha1.AgentRun
	writes   int                // of a status
	reported map[types.UID]bool // by an Event
}

// change takes a version of an object. Only the controller changes a run after
// its creation.
func (t *tally) change(was, is any) {
	t.jobs.Change(is)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runs == nil {
		t.runs = map[types.UID]*v1alpha1.AgentRun{}
		t.reported = map[types.UID]bool{}
	}
	switch is := is.(type) {
	case *v1alpha1.AgentRun:
		before, ok := was.(*v1alpha1.AgentRun)
		if ok && before.ResourceVersion != is.ResourceVersion {
			t.writes++
		}
		t.runs[is.UID] = is
	case *corev1.Event:
		t.reported[is.InvolvedObject.UID] = true
	}
}

// count adds the reconciles of the running process. Both export the counter of
// controller-runtime.
func (t *tally) count(ctx context.Context) error {
	n, err := t.process.Value(ctx, "controller_runtime_reconcile_total", nil)
	t.reconciles += n
	return err
}

// which returns the runs for which something is true, by name.
func (t *tally) which(is func(*v1alpha1.AgentRun) bool) (found []*v1alpha1.AgentRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, run := range t.runs {
		if is(run) {
			found = append(found, run)
		}
	}
	slices.SortFunc(found, func(a, b *v1alpha1.AgentRun) int { return strings.Compare(a.Name, b.Name) })
	return found
}

func (t *tally) ended() int { return len(t.which(play.Terminal)) }

// lost returns the runs whose status does not say how their pod ended.
func (t *tally) lost() []*v1alpha1.AgentRun {
	return t.which(func(run *v1alpha1.AgentRun) bool { return run.Status.Phase != play.Truth(run) })
}

// silent returns how many runs failed without an Event.
func (t *tally) silent() int {
	return len(t.which(func(run *v1alpha1.AgentRun) bool {
		return play.Truth(run) == v1alpha1.Failed && !t.reported[run.UID]
	}))
}

// twice returns the name of a run for each Job beyond its first.
func (t *tally) twice() []string {
	_, again := t.jobs.Count()
	return again
}

// differs returns what no controller should do. A killed process may lose an
// Event.
func (t *tally) differs() (differs []string) {
	for _, run := range t.lost() {
		differs = append(differs, fmt.Sprintf("%s: its pod %s, and its status says %s",
			run.Name, strings.ToLower(string(play.Truth(run))), said(run)))
	}
	for _, name := range t.twice() {
		differs = append(differs, name+": it has had another Job")
	}
	return differs
}

// said is what the status of a run says.
func said(run *v1alpha1.AgentRun) string {
	st := run.Status
	return strings.TrimSuffix(fmt.Sprintf("%s, %s: %s", st.Phase, st.Reason, st.Message), ": ")
}
