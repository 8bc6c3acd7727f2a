// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// details are the fields of a refusal in addition to its message.
func details(err error) metav1.StatusDetails {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return metav1.StatusDetails{}
	}
	return *status.Status().Details
}

// A shape has the fields that distinguish refusals.
type shape struct {
	reason metav1.StatusReason
	kind   string
	named  bool
	cause  metav1.CauseType
}

func shapeOf(err error) shape {
	d := details(err)
	s := shape{reason: apierrors.ReasonForError(err), kind: d.Kind, named: d.Name != ""}
	if len(d.Causes) > 0 {
		s.cause = d.Causes[0].Type
	}
	return s
}

// TestShapesOfRefusals: a Recorder distinguishes refusals by these shapes and
// handles each in its own way.
//
//req:shows E3
func TestShapesOfRefusals(t *testing.T) {
	t.Parallel()
	create := func(cs kubernetes.Interface, ev *eventsv1.Event) error {
		_, err := cs.EventsV1().Events(ev.Namespace).Create(t.Context(), ev, metav1.CreateOptions{})
		return err
	}
	patch := func(cs kubernetes.Interface, namespace string) error {
		_, err := cs.EventsV1().Events(namespace).Patch(t.Context(), "gone.1", types.MergePatchType,
			[]byte(`{"series":{"count":2,"lastObservedTime":"2026-01-02T03:04:05.000000Z"}}`), metav1.PatchOptions{})
		return err
	}
	nobody := func(t *testing.T, s *stage) kubernetes.Interface {
		t.Helper()
		config, err := s.cp.User("stranger")
		require.NoError(t, err)
		cs, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		return cs
	}
	cases := map[string]struct {
		reason string
		plane  func() (*controlplane.ControlPlane, error)
		refuse func(t *testing.T, s *stage) error
		want   shape
	}{
		"GroupAbsent": {
			"The router answers without a resource.", old,
			func(_ *testing.T, s *stage) error { return create(s.kube, s.valid()) },
			shape{metav1.StatusReasonNotFound, "events", false, metav1.CauseTypeUnexpectedServerResponse},
		},
		"GroupAbsentByPatch": {
			"The client adds the name; the cause distinguishes it from an expired Event.", old,
			func(_ *testing.T, s *stage) error { return patch(s.kube, s.namespace) },
			shape{metav1.StatusReasonNotFound, "events", true, metav1.CauseTypeUnexpectedServerResponse},
		},
		"NotGranted": {
			"The answer has no causes.", nil,
			func(t *testing.T, s *stage) error { t.Helper(); return create(nobody(t, s), s.valid()) },
			shape{metav1.StatusReasonForbidden, "events", false, ""},
		},
		"NamespaceAbsent": {
			"The kind is the namespace's.", nil,
			func(_ *testing.T, s *stage) error {
				s.namespace = "never-was"
				return create(s.kube, s.valid())
			},
			shape{metav1.StatusReasonNotFound, "namespaces", true, ""},
		},
		"NamespaceTerminating": {
			"Forbidden, with a cause.", nil,
			func(t *testing.T, s *stage) error { t.Helper(); s.terminate(t); return create(s.kube, s.valid()) },
			shape{metav1.StatusReasonForbidden, "events", true, corev1.NamespaceTerminatingCause},
		},
		"EventExpired": {
			"It has the name.", nil,
			func(_ *testing.T, s *stage) error { return patch(s.kube, s.namespace) },
			shape{metav1.StatusReasonNotFound, "events", true, ""},
		},
		"NameTaken": {
			"It may be our Event, whose answer was lost.", nil,
			func(t *testing.T, s *stage) error {
				t.Helper()
				require.NoError(t, create(s.kube, s.valid()))
				return create(s.kube, s.valid())
			},
			shape{metav1.StatusReasonAlreadyExists, "events", true, ""},
		},
		"Invalid": {
			"Never worth another attempt.", nil,
			func(_ *testing.T, s *stage) error {
				ev := s.valid()
				ev.Action = ""
				return create(s.kube, ev)
			},
			shape{metav1.StatusReasonInvalid, "Event", true, metav1.CauseTypeFieldValueRequired},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cp := plane
			if tc.plane != nil {
				var err error
				cp, err = tc.plane()
				require.NoError(t, err)
			}
			err := tc.refuse(t, newStage(t, cp))
			got := shapeOf(err)
			if tc.want.reason == metav1.StatusReasonForbidden && tc.want.cause == "" {
				got.named = false // an Event to create has a name for the authorizer or not, by the version of the server
			}
			assert.Equal(t, tc.want, got, "%s: %v", tc.reason, err)
		})
	}
}

// terminate deletes the namespace, and keeps it terminating with an object that
// has a finalizer.
func (s *stage) terminate(t *testing.T) {
	t.Helper()
	_, err := s.kube.CoreV1().ConfigMaps(s.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, s.kube.CoreV1().Namespaces().Delete(t.Context(), s.namespace, metav1.DeleteOptions{}))
}
