// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestALimitedNamespace_DelaysNoOtherNamespace: the admission plugin
// EventRateLimit answers 429 without a time to retry, because other programs
// write as many Events in the namespace as it allows. No Event is lost.
//
//req:shows E6
func TestALimitedNamespace_DelaysNoOtherNamespace(t *testing.T) {
	t.Parallel()
	const n = 3 * limitBurst
	limited, healthy := newStage(t, plane), newStage(t, plane)
	others, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for i := 0; others.Err() == nil; i++ {
			_, _ = limited.kube.CoreV1().Events(limited.namespace).Create(others, &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprint("other.", i)},
				InvolvedObject: *limited.reference("other"),
			}, metav1.CreateOptions{})
		}
	}()
	r := record(t, plane.Config(), coreOnly, events.Options{})
	for i := range n {
		failed(r.Recorder, limited.reference(fmt.Sprintf("run-%02d", i)))
	}
	suite.Eventually(t, "the API server refuses several times", func(context.Context) bool { return r.Stats().Retried > 3 })
	began := time.Now()
	failed(r.Recorder, healthy.reference("run"))
	suite.Eventually(t, "the healthy one is written", func(context.Context) bool { return len(healthy.stored(t)) == 1 })
	took := time.Since(began)
	t.Logf("the healthy Event took %v", took)
	assert.Less(t, took, 30*time.Second, "in virtual time it is at most 3 s")
	stop()
	r.flushed(t)
	require.Len(t, limited.stored(t), n)
	assert.Less(t, len(r.answers()), 10*n, "it is left alone between attempts")
}
