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
	corev1 "k8s.io/api/core/v1"
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
	outcomes map[types.UID]v1alpha1.Phase // the first terminal phase of each run
	jobs     map[types.UID]types.UID      // the first Job of each run
	warnings map[types.UID]bool           // runs that have a Warning
}

// Record watches a stage until the test ends. No object may have one of the
// secrets.
func Record(t *testing.T, stage *play.Stage, secrets ...string) *Recorder {
	t.Helper()
	r := &Recorder{
		secrets: secrets, outcomes: map[types.UID]v1alpha1.Phase{}, jobs: map[types.UID]types.UID{},
		warnings: map[types.UID]bool{},
	}
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
	breach := func(format string, args ...any) {
		where := fmt.Sprintf("%T %s (version %s): ", is, object.GetName(), object.GetResourceVersion())
		r.breaches = append(r.breaches, where+fmt.Sprintf(format, args...))
	}
	text, err := json.Marshal(is)
	if err != nil {
		breach("%v", err)
	}
	for _, secret := range r.secrets {
		if strings.Contains(string(text), secret) {
			breach("it holds a secret: %s", text)
		}
	}
	switch is := is.(type) {
	case *v1alpha1.AgentRun:
		before, ok := was.(*v1alpha1.AgentRun)
		if !ok || before.UID != is.UID {
			before = new(v1alpha1.AgentRun)
		}
		r.noteRun(before, is, breach)
	case *batchv1.Job:
		r.noteJob(is, breach)
	case *corev1.Event:
		if is.Type == corev1.EventTypeWarning {
			r.warnings[is.InvolvedObject.UID] = true
		}
	}
}

// A report records a breach of the contract by one version.
type report func(format string, args ...any)

// noteRun records a version of a run.
func (r *Recorder) noteRun(before, is *v1alpha1.AgentRun, breach report) {
	for _, broken := range statustest.Check(before.Status.Stamp, is.Status.Stamp, is.Generation) {
		breach("%v", broken)
	}
	outcome := r.outcomes[is.UID]
	if outcome != "" && is.Status.Phase != outcome {
		breach("it ended as %s, and is %s now", outcome, is.Status.Phase)
	} else if Ended(is) {
		r.outcomes[is.UID] = is.Status.Phase
	}
}

// noteJob records a version of the Job of a run.
func (r *Recorder) noteJob(is *batchv1.Job, breach report) {
	owner := metav1.GetControllerOf(is)
	if owner == nil {
		return
	}
	first, known := r.jobs[owner.UID]
	if !known {
		r.jobs[owner.UID] = is.UID
	} else if first != is.UID {
		breach("it is not the only Job of run %s", owner.Name)
	}
}

// Outcome returns how a run ended; "" if it has not.
func (r *Recorder) Outcome(run types.UID) v1alpha1.Phase {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcomes[run]
}

// HasWarning reports whether a run has an Event that is a Warning.
func (r *Recorder) HasWarning(run types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.warnings[run]
}

// Ended returns the number of runs that have ended.
func (r *Recorder) Ended() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.outcomes)
}

// Breaches returns the breaches of the contract so far.
func (r *Recorder) Breaches() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.breaches)
}
