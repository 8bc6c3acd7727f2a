// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestAWorkerThatWakesWhenAllIsClosedSleepsAgain: no worker may serve a timer
// that is due then. A loop that waits for it would hold the lock forever.
func TestAWorkerThatWakesWhenAllIsClosedSleepsAgain(t *testing.T) {
	r, err := New(&Sink{events: func(string) eventsClient { return nil }}, "example.com/test", Options{})
	require.NoError(t, err)
	run := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{UID: types.UID("a")}}
	for i := range 10 {
		r.Eventf(run, nil, "Normal", "Reason"+strconv.Itoa(i), "", "")
		r.entries[key{id: "a"}].bucket.take(r.perObject, r.now())
	}
	require.NotEmpty(t, r.plan.later, "it waits for a token")
	r.closed = true
	slept := make(chan time.Duration)
	go func() {
		_, wait, _ := r.next(r.plan.later[0].at.add(time.Hour))
		slept <- wait
	}()
	select {
	case wait := <-slept:
		assert.Negative(t, wait)
	case <-time.After(20 * time.Second):
		t.Fatal("it spins")
	}
}
