// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	"k8s.io/client-go/kubernetes"
	clientevents "k8s.io/client-go/tools/events"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/proompteng/controllerkit/events"
)

// reconciler records as in controller-runtime: its field is client-go's
// interface.
type reconciler struct{ Recorder clientevents.EventRecorder }

func managerBefore(mgr ctrl.Manager, r *reconciler) {
	r.Recorder = mgr.GetEventRecorder("agents.example.com/agentrun")
}

func managerAfter(ctx context.Context, mgr ctrl.Manager, r *reconciler) error {
	cs, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	sink := events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
	recorder, err := events.New(sink, "agents.example.com/agentrun", events.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return err
	}
	r.Recorder = recorder
	return recorder.RunWith(ctx, mgr.Start)
}
