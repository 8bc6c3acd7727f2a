// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/status/statustest"
)

// Recorder watches the runs, Jobs and Events of a namespace. It records every
// version, and every step from one version to the next, that breaks the
// contract: a terminal phase is left, a run has a second Job, an object has a
// secret. The watch may miss versions while the API server is down. The
// contract holds over any number of steps.
type Recorder struct {
	secrets []string

	mu       sync.Mutex
	breaches []string
	versions int
	runs     map[types.UID]*Seen
}

// Seen is what a Recorder has seen of a run.
type Seen struct {
	Phase   v1alpha1.Phase // of its last version
	Reason  string
	Outcome v1alpha1.Phase // the first terminal phase
	Jobs    []types.UID    // also deleted ones
}

// Record watches a stage until the test ends. No object may have one of the
// secrets.
func Record(t *testing.T, stage *play.Stage, secrets ...string) *Recorder {
	t.Helper()
	r := &Recorder{secrets: secrets, runs: map[types.UID]*Seen{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended, err := stage.Watch(ctx, r.note)
	t.Cleanup(func() {
		cancel()
		ended()
	})
	require.NoError(t, err)
	return r
}

// note records one version.
func (r *Recorder) note(was, is any) {
	object, ok := is.(metav1.Object)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.versions++
	breach := func(format string, args ...any) {
		where := fmt.Sprintf("%T %s (version %s): ", is, object.GetName(), object.GetResourceVersion())
		r.breaches = append(r.breaches, where+fmt.Sprintf(format, args...))
	}
	r.noteSecrets(is, breach)
	switch is := is.(type) {
	case *v1alpha1.AgentRun:
		before, ok := was.(*v1alpha1.AgentRun)
		if !ok || before.UID != is.UID {
			before = new(v1alpha1.AgentRun)
		}
		r.noteRun(before, is, breach)
	case *batchv1.Job:
		r.noteJob(is, breach)
	}
}

// A report records a breach of the contract by one version.
type report func(format string, args ...any)

// noteSecrets reports each secret in an object.
func (r *Recorder) noteSecrets(is any, breach report) {
	text, err := json.Marshal(is)
	if err != nil {
		breach("%v", err)
	}
	for _, secret := range r.secrets {
		if strings.Contains(string(text), secret) {
			breach("it holds a secret: %s", text)
		}
	}
}

// noteRun records a version of a run.
func (r *Recorder) noteRun(before, is *v1alpha1.AgentRun, breach report) {
	for _, broken := range statustest.Check(before.Status.Stamp, is.Status.Stamp, is.Generation) {
		breach("%v", broken)
	}
	run := r.run(is.UID)
	run.Phase, run.Reason = is.Status.Phase, is.Status.Reason
	if run.Outcome != "" && run.Phase != run.Outcome {
		breach("it ended as %s, and is %s now", run.Outcome, run.Phase)
	} else if Ended(is) {
		run.Outcome = run.Phase
	}
}

// noteJob records a version of the Job of a run.
func (r *Recorder) noteJob(is *batchv1.Job, breach report) {
	owner := metav1.GetControllerOf(is)
	if owner == nil {
		return
	}
	run := r.run(owner.UID)
	if !slices.Contains(run.Jobs, is.UID) {
		run.Jobs = append(run.Jobs, is.UID)
	}
	if len(run.Jobs) > 1 {
		breach("it is not the only Job of run %s", owner.Name)
	}
}

func (r *Recorder) run(uid types.UID) *Seen {
	if r.runs[uid] == nil {
		r.runs[uid] = new(Seen)
	}
	return r.runs[uid]
}

// Run returns what was seen of a run so far.
func (r *Recorder) Run(uid types.UID) Seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.run(uid)
}

// Count returns the numbers of all runs, of ended runs, and of runs with a Job.
func (r *Recorder) Count() (runs, ended, withJob int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.runs {
		if run.Outcome != "" {
			ended++
		}
		if len(run.Jobs) > 0 {
			withJob++
		}
	}
	return len(r.runs), ended, withJob
}

// Breaches returns the breaches of the contract and the number of versions so
// far.
func (r *Recorder) Breaches() (breaches []string, versions int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.breaches), r.versions
}
