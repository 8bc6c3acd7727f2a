// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/eventstest"
)

// cluster keeps the reasons of the Events that an events.Recorder creates.
type cluster struct{ reasons []string }

func (c *cluster) Create(_ context.Context, ev *corev1.Event, _ metav1.CreateOptions) (*corev1.Event, error) {
	c.reasons = append(c.reasons, ev.Reason)
	return ev, nil
}

func (*cluster) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*corev1.Event, error) {
	return nil, nil //nolint:nilnil // an events.Recorder reads no answer
}

// TestFailure_RecoversAsInACluster: both recorders take the same objects for
// one, and open a failure of the same objects.
func TestFailure_RecoversAsInACluster(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	service := func(api string) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": api, "kind": "Service", "metadata": map[string]any{"name": "web", "namespace": "runs"},
		}}
	}
	ref := func(api, uid, version string) runtime.Object {
		return &corev1.ObjectReference{APIVersion: api, Kind: "ConfigMap", Namespace: "runs", Name: "a", UID: types.UID(uid), ResourceVersion: version}
	}
	withUID := object("a")
	withUID.UID = "9"
	bare := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "runs", Name: "a"}}
	bareUID := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "runs", Name: "a", UID: "9"}}
	x := errors.New("x")
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "p", x)
	for name, tc := range map[string]struct {
		reason         string
		scheme         *runtime.Scheme
		failed, passed runtime.Object
		err            error
		want           []string
	}{
		"Same":              {"The name is the same.", scheme, object("a"), object("a"), x, []string{events.InternalError, events.Recovered}},
		"OtherName":         {"It is another object.", scheme, object("a"), object("b"), x, []string{events.InternalError}},
		"UID":               {"The uid alone decides.", scheme, withUID, bareUID, x, []string{events.InternalError, events.Recovered}},
		"UIDNoScheme":       {"Then no kind is needed.", nil, withUID, bareUID, x, []string{events.InternalError, events.Recovered}},
		"OtherUID":          {"The object was created again.", scheme, withUID, object("a"), x, []string{events.InternalError}},
		"OtherGroup":        {"Knative has a Service too.", scheme, service("v1"), service("serving.knative.dev/v1"), x, []string{events.InternalError}},
		"GroupVersion":      {"Versions of one group are one.", scheme, service("serving.knative.dev/v1"), service("serving.knative.dev/v2"), x, []string{events.InternalError, events.Recovered}},
		"ReferenceUID":      {"The resourceVersion plays no part.", scheme, ref("v1", "9", "1"), ref("v1", "9", "2"), x, []string{events.InternalError, events.Recovered}},
		"ReferenceNoUID":    {"Without a uid the names decide.", scheme, ref("v1", "", "1"), ref("v1", "", "2"), x, []string{events.InternalError, events.Recovered}},
		"ReferenceOrItself": {"They name one object.", scheme, ref("v1", "9", ""), withUID, x, []string{events.InternalError, events.Recovered}},
		"SchemeOrTypeMeta":  {"The Scheme says the same.", scheme, bare, object("a"), x, []string{events.InternalError, events.Recovered}},
		"Nil":               {"For no object nothing is recorded.", scheme, nil, nil, x, nil},
		"TypedNil":          {"Nor of a nil pointer.", scheme, (*corev1.Pod)(nil), (*corev1.Pod)(nil), x, nil},
		"NoKind":            {"No Event can refer to it.", nil, bare, bare, x, nil},
		"NoKindUID":         {"Also with a uid.", nil, bareUID, bareUID, x, nil},
		"NoMetadata":        {"A list has no name.", scheme, &metav1.Status{}, &metav1.Status{}, x, nil},
		"EmptyReference":    {"It names no kind.", scheme, &corev1.ObjectReference{}, &corev1.ObjectReference{}, x, nil},
		"ReferenceNoKind":   {"A uid does not suffice.", scheme, withUID, &corev1.ObjectReference{UID: "9"}, x, []string{events.InternalError}},
		"Conflict":          {"A conflict is routine.", scheme, object("a"), object("a"), conflict, nil},
		"ConflictCanceled":  {"A conflict and a cancellation are both routine.", scheme, object("a"), object("a"), errors.Join(conflict, fmt.Errorf("step 2: %w", context.Canceled)), nil},
		"Canceled":          {"A cancelled reconcile says nothing of the object.", scheme, object("a"), object("a"), context.Canceled, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := new(cluster)
			rec, err := events.New(events.NewCoreSink(func(string) *cluster { return c }), "agents.example.com/run", events.Options{Scheme: tc.scheme, WritesPerMinute: 100})
			require.NoError(t, err)
			fake := &eventstest.Recorder{Scheme: tc.scheme}
			for _, r := range []recorder{rec, fake} {
				r.Failure(tc.failed, tc.err)
				r.Failure(tc.passed, nil)
			}
			_ = rec.Flush(t.Context()) // an error where an Event is lost
			var kept []string
			for _, e := range fake.Entries() {
				if e.Lost == "" {
					kept = append(kept, e.Reason)
				} else {
					assert.NotEqual(t, events.Recovered, e.Reason, tc.reason)
				}
			}
			assert.Equal(t, tc.want, c.reasons, tc.reason)
			assert.Equal(t, tc.want, kept, tc.reason)
		})
	}
}

// TestFailure_OpensNothingThatIsLost: an Event without a reason is refused, and
// the failure before it stays open.
func TestFailure_OpensNothingThatIsLost(t *testing.T) {
	var rec eventstest.Recorder
	rec.FailureReason(object("a"), "", errors.New("x"))
	rec.Failure(object("a"), nil)
	assert.Equal(t, []string{""}, rec.Reasons())
	rec.FailureReason(object("a"), "Own", errors.New("x"))
	rec.FailureReason(object("a"), "", errors.New("x"))
	rec.Failure(object("a"), nil)
	assert.Equal(t, "recovered from Own", rec.Entries()[3].Note)
}
