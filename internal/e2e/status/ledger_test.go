// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/proompteng/controllerkit/internal/e2e/status/kinds"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/status"
)

// ledger watches every version of every Probe of a stage, and compares each
// with the one before.
type ledger struct {
	t *testing.T

	mu       sync.Mutex
	latest   map[string]*kinds.Probe    // by name
	states   map[types.UID]*kinds.Probe // the last state of each object, also deleted ones
	versions int
}

// keepLedger watches until the test ends.
func keepLedger(t *testing.T, s *stage) *ledger {
	t.Helper()
	l := &ledger{t: t, latest: map[string]*kinds.Probe{}, states: map[types.UID]*kinds.Probe{}}
	list, err := s.theirs.probes.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items, "it sees every object from its first version on")
	// Unlike an informer it continues where it was interrupted, and skips no
	// version.
	w, err := watchtools.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return s.theirs.probes.Watch(ctx, opts)
		},
	})
	require.NoError(t, err)
	var reading sync.WaitGroup
	reading.Go(func() {
		for e := range w.ResultChan() {
			l.note(e)
		}
	})
	t.Cleanup(func() {
		w.Stop()
		reading.Wait()
	})
	return l
}

// note records one version and checks it.
func (l *ledger) note(e watch.Event) {
	p, ok := e.Object.(*kinds.Probe)
	if e.Type == watch.Bookmark {
		return
	}
	if !ok {
		l.t.Errorf("the watch failed: %v", e.Object)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.versions++
	was := l.states[p.UID]
	l.states[p.UID] = p
	l.latest[p.Name] = p
	if e.Type == watch.Deleted {
		delete(l.latest, p.Name)
	}
	if was == nil {
		assert.Zero(l.t, p.Status, "%s: a new object has no status", p.Name)
		was = &kinds.Probe{}
	}
	for _, breach := range breaches(was, p) {
		l.t.Errorf("%s %s: %v", p.Name, p.UID, breach)
	}
}

// breaches returns how a version breaks the contract with the one before.
func breaches(was, is *kinds.Probe) []error {
	broken := status.Check(was.Status.Stamp, is.Status.Stamp, is.Generation)
	breach := func(format string, args ...any) { broken = append(broken, fmt.Errorf(format, args...)) }
	if is.Status.ComputedFor != "" && is.Status.ComputedFor != string(is.UID) {
		breach("its status is of the object %s", is.Status.ComputedFor)
	}
	for _, c := range was.Status.Conditions {
		now := condition(is, c.Type)
		if count(now) < count(c) {
			breach("%s went back from %q to %q", c.Type, c.Message, now.Message)
		}
		if now.ObservedGeneration < c.ObservedGeneration {
			breach("%s went back from generation %d to %d", c.Type, c.ObservedGeneration, now.ObservedGeneration)
		}
	}
	for _, c := range is.Status.Conditions {
		if uid, _, _ := strings.Cut(c.Message, " "); uid != string(is.UID) {
			breach("%s is of the object %s", c.Type, uid)
		}
		if c.ObservedGeneration > is.Generation {
			breach("%s claims generation %d of %d", c.Type, c.ObservedGeneration, is.Generation)
		}
		if c.LastTransitionTime.IsZero() {
			breach("%s has no transition time", c.Type)
		}
	}
	return broken
}

// message returns a writer's n-th message about an object. count reads n, and
// returns 0 for a missing condition.
func message(uid types.UID, n int) string { return fmt.Sprintf("%s %d", uid, n) }

func count(c metav1.Condition) (n int) {
	_, number, _ := strings.Cut(c.Message, " ")
	_, _ = fmt.Sscan(number, &n) // no number is 0
	return n
}

// get returns the latest version, or nil.
func (l *ledger) get(name string) *kinds.Probe {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest[name]
}

// snapshot returns all latest versions.
func (l *ledger) snapshot() map[string]*kinds.Probe {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.latest)
}

// close waits until it has seen all stored versions, and returns the last state
// of each object, also of deleted ones.
func (l *ledger) close(s *stage) (states map[types.UID]*kinds.Probe, versions int) {
	list, err := s.theirs.probes.List(l.t.Context(), metav1.ListOptions{})
	require.NoError(l.t, err)
	suite.Eventually(l.t, "the watch catches up", func(context.Context) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, p := range list.Items {
			if seen := l.latest[p.Name]; seen == nil || seen.ResourceVersion != p.ResourceVersion {
				return false
			}
		}
		return len(l.latest) == len(list.Items)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.states), l.versions
}
