// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
)

// The clock is set back between two Events, and between an Event and its
// update.
func TestAClockThatStepsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewCoreSink(func(string) client[corev1.Event] { return nil })
		r, err := New(s, "agentrun", Options{})
		require.NoError(t, err)
		r.lastNumber = time.Now().Add(time.Hour).UnixNano() // as if the clock had said so before
		e := &entry{ref: corev1.ObjectReference{Name: "a", Namespace: "runs"}, lane: &lane{name: "runs"}}
		a, b := &job{e: e, s: &series{}, draft: &draft{}, carried: 1}, &job{e: e, s: &series{}, draft: &draft{}, carried: 1}
		r.prepare(a, r.now())
		r.prepare(b, r.now())
		assert.Greater(t, b.draft.number, a.draft.number, "names stay unique")
		assert.Greater(t, a.draft.number, time.Now().Add(59*time.Minute).UnixNano())

		update := r.prepare(&job{e: e, s: &series{event: a.draft.number, count: 1}, carried: 1}, r.now())
		assert.False(t, update.series.LastObservedTime.Time.Before(time.Unix(0, a.draft.number)), "no series ends before it began")

		named := b.draft.number
		r.prepare(b, r.now())
		assert.Equal(t, named, b.draft.number, "a retry has the name of the attempt before it")
	})
}

func TestClusterScopedObjectsGoToTheNamespaceOfTheOptions(t *testing.T) {
	s := NewCoreSink(func(string) client[corev1.Event] { return nil })
	r, err := New(s, "agentrun", Options{Namespace: "kube-system"})
	require.NoError(t, err)
	node := r.entry(corev1.ObjectReference{Kind: "Node", Name: "n"}, corev1.EventTypeWarning)
	w := r.prepare(&job{e: node, s: &series{identity: identity{eventtype: corev1.EventTypeWarning, reason: "A", action: "B"}}, draft: &draft{text: "c"}, carried: 1}, 1)
	assert.Equal(t, "kube-system", w.event.Namespace)
	assert.Empty(t, w.event.Regarding.Namespace)
	assert.Equal(t, corev1.EventTypeWarning, w.event.Type)
	w = r.prepare(&job{e: node, s: &series{event: 1, count: 1}, carried: 2}, 0)
	assert.Equal(t, "kube-system", w.namespace)
	assert.Equal(t, int32(3), w.series.Count)
}

// TestRecord_TakesTheTimeUnderTheLock: a call that waits for the lock while
// others record is later than these, so no series ends before it begins.
func TestRecord_TakesTheTimeUnderTheLock(t *testing.T) {
	r, err := New(NewCoreSink(func(string) client[corev1.Event] { return nil }), "agentrun", Options{})
	require.NoError(t, err)
	object := &corev1.ObjectReference{Kind: "Pod", Namespace: "runs", Name: "a"}
	var all sync.WaitGroup
	r.mu.Lock()
	all.Go(func() { r.Eventf(object, nil, corev1.EventTypeNormal, "A", "", "") })
	<-time.After(20 * time.Millisecond) // the call waits
	unlocked := r.now()
	r.mu.Unlock()
	all.Wait()
	s := r.entries[keyOf(*object)].series
	assert.GreaterOrEqual(t, s.seen, unlocked)
	assert.GreaterOrEqual(t, s.since, unlocked)
}
