// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/proompteng/controllerkit/events"
)

// TestRecorder_WritesWhatTheLastReconcileRecords: a manager first stops the
// runnables without leadership, then the reconcilers and other runnables with
// leadership, and then the caches.
func TestRecorder_WritesWhatTheLastReconcileRecords(t *testing.T) {
	cs := fake.NewClientset()
	rec, err := events.New(events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events), name, events.Options{Scheme: clientgoscheme.Scheme})
	require.NoError(t, err)
	options := ctrl.Options{}
	options.Metrics.BindAddress = "0"
	mgr, err := ctrl.NewManager(&rest.Config{Host: "https://127.0.0.1:1"}, options) // no request is sent to it
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	require.NoError(t, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { // like a controller, it ends with its last reconcile
		stop()
		<-ctx.Done()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "1"}}
		rec.Eventf(object, nil, corev1.EventTypeNormal, "Last", "Reconcile", "the last one")
		return nil
	})))
	require.NoError(t, rec.RunWith(ctx, mgr.Start))
	list, err := cs.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 1, "the recorder ends after the manager")
	assert.Empty(t, rec.Stats().Lost)
}
