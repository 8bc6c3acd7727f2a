// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/proompteng/controllerkit/events"
)

func newRun() *Run {
	return &Run{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "1", Generation: 1}}
}

// fail records the same failure three times, as three reconciles would.
func fail(r record.EventRecorder) {
	for range 3 {
		r.Event(newRun(), corev1.EventTypeWarning, "SyncFailed", "no route to host")
	}
}

func TestClientGoEventsBeforeAndAfter(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cs := fake.NewClientset()
	var before corev1.Event
	clientGoBefore(ctx, cs, NewScheme(), func(r record.EventRecorder) {
		fail(r)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			list, err := cs.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
			require.NoError(c, err)
			require.Len(c, list.Items, 1)
			before = list.Items[0]
			require.Equal(c, int32(3), before.Count)
		}, time.Minute, 10*time.Millisecond)
	})
	assert.Equal(t, "agentrun", before.Source.Component)
	assert.Equal(t, "agentrun", before.ReportingController)
	assert.Nil(t, before.Series)
	assert.True(t, before.EventTime.IsZero())
	assert.Equal(t, 3, writes(cs), "a write for each call")

	cs = fake.NewClientset()
	require.NoError(t, clientGoAfter(ctx, cs, NewScheme(), func(_ context.Context, r record.EventRecorder) error {
		fail(r)
		return nil
	}))
	list, err := cs.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	after := list.Items[0]
	assert.Equal(t, "agents.example.com/agentrun", after.ReportingController)
	host, err := os.Hostname()
	require.NoError(t, err)
	assert.Equal(t, host, after.ReportingInstance)
	assert.Equal(t, "SyncFailed", after.Action)
	assert.False(t, after.EventTime.IsZero())
	assert.Equal(t, int32(3), after.Series.Count)
	assert.Zero(t, after.DeprecatedCount)
	assert.LessOrEqual(t, writes(cs), 2, "the first immediately, the rest in the series")
}

func writes(cs *fake.Clientset) int {
	return len(slices.DeleteFunc(cs.Actions(), func(a clienttesting.Action) bool { return a.GetVerb() == "list" }))
}

func TestFailureReplacesTheCallsOnFailure(t *testing.T) {
	cs := fake.NewClientset()
	recorder, err := events.New(events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events), "agents.example.com/agentrun", events.Options{Scheme: NewScheme()})
	require.NoError(t, err)
	clientGoLater(recorder, newRun(), errors.New("no route to host"))
	clientGoLater(recorder, newRun(), nil)
	require.NoError(t, recorder.Flush(t.Context()))
	list, err := cs.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	assert.ElementsMatch(t, []string{"InternalError", "Recovered"}, []string{list.Items[0].Reason, list.Items[1].Reason})
}

// TestManagerTakesTheRecorder: the field of the reconciler and the calls stay,
// and the manager takes the recorder without an adapter.
func TestManagerTakesTheRecorder(t *testing.T) {
	options := ctrl.Options{Scheme: NewScheme()}
	options.Metrics.BindAddress = "0"
	mgr, err := ctrl.NewManager(&rest.Config{Host: "https://127.0.0.1:1"}, options)
	require.NoError(t, err)
	r := new(reconciler)
	managerBefore(mgr, r)
	assert.NotNil(t, r.Recorder)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, managerAfter(ctx, mgr, r), "the manager runs, and ends")
	assert.IsType(t, (*events.Recorder)(nil), r.Recorder)
}
