// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

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

// DrainTimeout is how long the recorder writes events after the manager has
// stopped. With the manager's time for its stop, it must fit into the 30
// seconds that a pod has by default.
const DrainTimeout = 10 * time.Second

// SetupWithManager builds the reconciler and registers it. It starts nothing:
// the manager starts the controller, and the caller runs the recorder around
// the manager.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, m *metrics.Metrics) (*events.Recorder, error) {
	clients, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, err
	}
	measured := m.Controller("task") // +metrics

	sink := events.NewSink(clients.EventsV1().Events, clients.CoreV1().Events) // +events
	recorder, err := events.New(sink, Name, events.Options{                    // +events
		Scheme: mgr.GetScheme(), OnResult: measured.Events(), DrainTimeout: DrainTimeout, // +events
	})
	if err != nil {
		return nil, err
	}

	informer, err := mgr.GetCache().GetInformer(ctx, &batchv1.Job{}) // +jobgc
	if err != nil {
		return nil, err
	}
	// How long Jobs stay is this controller's own choice.
	keep := jobgc.Options{Retention: jobgc.Retention{SucceededTTL: 10 * time.Minute}}
	guard, err := jobgc.New(clients.BatchV1().Jobs, jobgc.CachedBy(mgr.GetCache()), informer, keep) // +jobgc
	if err != nil {
		return nil, err
	}

	c := mgr.GetClient()
	writer := status.ForClient(c)                                              // +status
	writer.Owned, writer.OnCommit = []string{"Ready"}, measured.StatusWrites() // +status

	reconciler := &TaskReconciler{
		Client:  c,
		Live:    mgr.GetAPIReader(),
		Events:  recorder,
		Jobs:    guard,
		Metrics: measured,
		Runs:    measured.Runs(),
		Writer:  writer,
	}
	return recorder, ctrl.NewControllerManagedBy(mgr).
		For(&v1.Task{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: concerns})).
		Owns(&batchv1.Job{}).
		Named("task").
		Complete(reconciler)
}

// concerns filters updates, so that the controller's own status writes cause no
// reconcile.
func concerns(e event.UpdateEvent) bool { return status.NeedsReconcile(e.ObjectOld, e.ObjectNew) } // +status
