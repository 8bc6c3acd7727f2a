// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
)

// discard returns a sink whose API server accepts each write immediately and
// keeps nothing.
func discard() *events.Sink {
	return events.NewSink(
		func(string) discarded[*eventsv1.Event] { return discarded[*eventsv1.Event]{} },
		func(string) discarded[*corev1.Event] { return discarded[*corev1.Event]{} },
	)
}

type discarded[E any] struct{}

func (discarded[E]) Create(_ context.Context, ev E, _ metav1.CreateOptions) (E, error) {
	return ev, nil
}

func (discarded[E]) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (ev E, _ error) {
	return ev, nil
}
