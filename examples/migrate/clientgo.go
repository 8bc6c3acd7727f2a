// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/proompteng/controllerkit/events"
)

func clientGoBefore(
	ctx context.Context, cs kubernetes.Interface, scheme *runtime.Scheme,
	reconcile func(record.EventRecorder),
) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: cs.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme, corev1.EventSource{Component: "agentrun"})
	reconcile(recorder)
}

func clientGoAfter(
	ctx context.Context, cs kubernetes.Interface, scheme *runtime.Scheme,
	run func(context.Context, record.EventRecorder) error,
) error {
	sink := events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
	recorder, err := events.New(sink, "agents.example.com/agentrun", events.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	return recorder.RunWith(ctx, func(ctx context.Context) error {
		return run(ctx, recorder.Legacy()) // no call changes; Events are written until run has returned
	})
}

func clientGoLater(recorder events.Emitter, run *Run, err error) {
	recorder.Failure(run, err) // in each reconcile, also with nil, in place of the calls on failure
}
