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

func noClient(string) client[corev1.Event] { return nil }

// TestRequest_SurvivesAClockThatStepsBack, between two Events, and between an
// Event and its update.
func TestRequest_SurvivesAClockThatStepsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := New(NewCoreSink(noClient), "agentrun", Options{})
		require.NoError(t, err)
		before := time.Now().Add(time.Hour).UnixNano() // what the clock said
		r.book.lastNumber = before
		a := &draft{}
		b := &draft{}
		r.book.name(a, time.Now().UnixNano())
		r.book.name(b, time.Now().UnixNano())
		assert.Greater(t, b.number, a.number, "names stay unique")
		assert.Greater(t, a.number, before)

		update := &write{object: &object{namespace: &namespace{}}, series: &series{}, number: a.number, count: 2}
		req := r.requestOf(update, r.now())
		assert.False(t, req.series.LastObservedTime.Time.Before(time.Unix(0, a.number)), "no series ends before it began")

		named := b.number
		r.book.name(b, time.Now().UnixNano())
		assert.Equal(t, named, b.number, "a retry has the name of the attempt before it")
	})
}

// TestRequest_PutsClusterScopedObjectsIntoTheNamespaceOfTheOptions, and the
// reference has none.
func TestRequest_PutsClusterScopedObjectsIntoTheNamespaceOfTheOptions(t *testing.T) {
	r, err := New(NewCoreSink(noClient), "agentrun", Options{Namespace: "kube-system"})
	require.NoError(t, err)
	node := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "n"}
	for range 2 {
		r.Eventf(node, nil, corev1.EventTypeWarning, "A", "B", "c")
	}
	w, _ := r.book.next(r.now(), 1)
	require.NotNil(t, w)
	req := r.requestOf(w, r.now())
	assert.Equal(t, "kube-system", req.event.Namespace)
	assert.Empty(t, req.event.Regarding.Namespace)
	assert.Equal(t, corev1.EventTypeWarning, req.event.Type)
	assert.Equal(t, int32(2), req.event.Series.Count)
	r.book.done(r.now(), w, answer{})
	r.Eventf(node, nil, corev1.EventTypeWarning, "A", "B", "c")
	r.book.flush(r.now())
	w, _ = r.book.next(r.now(), 1)
	require.NotNil(t, w)
	req = r.requestOf(w, r.now())
	assert.Nil(t, req.event)
	assert.Equal(t, "kube-system", req.namespace)
	assert.Equal(t, int32(3), req.series.Count)
}

// TestRecord_TakesTheTimeUnderTheLock: a call that waits for the lock while
// others record is later than these, so no series ends before it begins.
func TestRecord_TakesTheTimeUnderTheLock(t *testing.T) {
	r, err := New(NewCoreSink(noClient), "agentrun", Options{})
	require.NoError(t, err)
	object := &corev1.ObjectReference{Kind: "Pod", Namespace: "runs", Name: "a"}
	var all sync.WaitGroup
	r.mu.Lock()
	all.Go(func() { r.Eventf(object, nil, corev1.EventTypeNormal, "A", "", "") })
	<-time.After(20 * time.Millisecond) // the call waits
	unlocked := r.now()
	r.mu.Unlock()
	all.Wait()
	s := r.book.objects[keyOf(object)].series[0]
	assert.GreaterOrEqual(t, s.waiting.seen, unlocked)
	assert.GreaterOrEqual(t, s.waiting.since, unlocked)
}

// TestBook_IsStillOnceItIsClosed: no worker may serve an instant that is due
// then. A loop that waits for it would hold the lock forever.
func TestBook_IsStillOnceItIsClosed(t *testing.T) {
	r, err := New(NewCoreSink(noClient), "agentrun", Options{})
	require.NoError(t, err)
	object := &corev1.ObjectReference{Kind: "Pod", Namespace: "runs", Name: "a"}
	for _, reason := range []string{"A", "B", "C", "D"} {
		r.Eventf(object, nil, corev1.EventTypeNormal, reason, "", "")
		r.book.objects[keyOf(object)].limiter.take(r.now())
	}
	require.NotEmpty(t, r.book.later, "it waits for a token")
	r.book.closed = true
	_, at := r.book.next(r.book.later.first().turn.at.add(time.Hour), 1)
	assert.Equal(t, never, at)
}
