// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// noClient is a client that no test calls.
func noClient(string) *noEvents { return nil }

type noEvents struct{}

func (*noEvents) Create(context.Context, *corev1.Event, metav1.CreateOptions) (*corev1.Event, error) {
	return nil, context.Canceled
}

func (*noEvents) Patch(
	context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string,
) (*corev1.Event, error) {
	return nil, context.Canceled
}

// TestRequest_SurvivesAClockThatIsSetBack: an update carries the time of its
// occurrence by the clock of now, also where the name of its Event is from a
// clock that was two hours ahead. Names stay unique.
func TestRequest_SurvivesAClockThatIsSetBack(t *testing.T) {
	r, err := New(NewCoreSink(noClient), "agentrun", Options{})
	require.NoError(t, err)
	ahead := time.Now().Add(2 * time.Hour).UnixNano()
	r.lastNumber = ahead
	o := r.admit(&occurrence{ref: &corev1.ObjectReference{Kind: "Node", Name: "n"}})
	s := r.open(o, &occurrence{})
	var numbers []int64
	for range 2 {
		s.n = 1
		w := r.begin(o, s, time.Now())
		numbers = append(numbers, w.number)
		o.writing = nil
		s.stored = stored{}
	}
	assert.Equal(t, []int64{ahead + 1, ahead + 2}, numbers)

	now := time.Now()
	req := r.requestOf(&write{object: o, series: s, number: ahead, count: 2, since: now, last: now})
	assert.WithinDuration(t, now, req.series.LastObservedTime.Time, time.Minute)
}
