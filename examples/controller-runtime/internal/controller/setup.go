// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/kubernetes"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/proompteng/controllerkit/events"
	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/status"
)

// Name of this controller in Events.
const Name = "tasks.controllerkit.dev/task"

// SetupWithManager makes what the reconciler uses and registers it. It starts nothing: the manager does, but for the recorder, which is to
// outlive it.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, m *metrics.Metrics) (*events.Recorder, error) {
	clients, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, err
	}
	measured := m.Controller("task") // +metrics

	sink := events.NewSink(clients.EventsV1().Events, clients.CoreV1().Events)                                 // +events
	recorder, err := events.New(sink, Name, events.Options{Scheme: mgr.GetScheme(), Observe: measured.Events}) // +events
	if err != nil {
		return nil, err
	}

	informer, err := mgr.GetCache().GetInformer(ctx, &batchv1.Job{}) // +jobgc
	if err != nil {
		return nil, err
	}
	guard, err := jobgc.New(clients.BatchV1().Jobs, informer, jobgc.Options{}) // +jobgc
	if err != nil {
		return nil, err
	}
	if _, err := informer.AddEventHandler(guard); err != nil { // +jobgc
		return nil, err
	}

	return recorder, ctrl.NewControllerManagedBy(mgr).
		For(&v1.Task{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: concerns})).
		Owns(&batchv1.Job{}).
		Named("task").
		Complete(&TaskReconciler{Client: mgr.GetClient(), Events: recorder, Jobs: guard, Metrics: measured})
}

// concerns keeps the controller's own writes of a status from coming back to it as reconciles.
func concerns(e event.UpdateEvent) bool { return status.Concerns(e.ObjectOld, e.ObjectNew) } // +status
