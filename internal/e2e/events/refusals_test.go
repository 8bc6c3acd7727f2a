// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// A shape has the fields that distinguish refusals.
type shape struct {
	reason metav1.StatusReason
	kind   string
	named  bool
	cause  metav1.CauseType
}

func shapeOf(err error) (s shape) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		d := status.Status().Details
		s = shape{reason: status.Status().Reason, kind: d.Kind, named: d.Name != ""}
		if len(d.Causes) > 0 {
			s.cause = d.Causes[0].Type
		}
	}
	return s
}

// TestShapesOfRefusals: a Recorder distinguishes refusals by these shapes and
// handles each in its own way. TestRulesOfTheServer has others.
//
//req:shows E3
func TestShapesOfRefusals(t *testing.T) {
	t.Parallel()
	create := func(t *testing.T, s *stage) error {
		t.Helper()
		_, err := s.kube.EventsV1().Events(s.namespace).Create(t.Context(), s.valid(), metav1.CreateOptions{})
		return err
	}
	patch := func(t *testing.T, s *stage) error {
		t.Helper()
		_, err := s.kube.EventsV1().Events(s.namespace).Patch(t.Context(), "gone.1", types.MergePatchType,
			[]byte(`{"series":{"count":2,"lastObservedTime":"2026-01-02T03:04:05.000000Z"}}`), metav1.PatchOptions{})
		return err
	}
	cases := map[string]struct {
		reason string
		before func(t *testing.T, s *stage) // may be nil
		refuse func(t *testing.T, s *stage) error
		want   shape
	}{
		"GroupAbsent": {
			"The router knows no such group.", withoutGroup, create,
			shape{metav1.StatusReasonNotFound, "events", false, metav1.CauseTypeUnexpectedServerResponse},
		},
		"GroupAbsentAndNoPermission": {
			"A caller without the verb is refused before the router is asked.",
			func(t *testing.T, s *stage) {
				t.Helper()
				withoutGroup(t, s)
				var err error
				s.kube, err = kubernetes.NewForConfig(s.as(t, "us", rbacv1.PolicyRule{
					APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"},
				}))
				require.NoError(t, err)
			}, create,
			shape{metav1.StatusReasonForbidden, "events", false, ""},
		},
		"GroupAbsentByPatch": {
			"The client adds the name; the cause distinguishes it from an expired Event.", withoutGroup, patch,
			shape{metav1.StatusReasonNotFound, "events", true, metav1.CauseTypeUnexpectedServerResponse},
		},
		"NamespaceAbsent": {
			"The kind is the namespace's.", func(_ *testing.T, s *stage) { s.namespace = "never-was" }, create,
			shape{metav1.StatusReasonNotFound, "namespaces", true, ""},
		},
		"NamespaceTerminating": {
			"Forbidden, with a cause.", terminate, create,
			shape{metav1.StatusReasonForbidden, "events", true, corev1.NamespaceTerminatingCause},
		},
		"EventExpired": {
			"It has the name.", nil, patch,
			shape{metav1.StatusReasonNotFound, "events", true, ""},
		},
		"NameTaken": {
			"It may be our Event, whose answer was lost.",
			func(t *testing.T, s *stage) {
				t.Helper()
				require.NoError(t, create(t, s))
			}, create,
			shape{metav1.StatusReasonAlreadyExists, "events", true, ""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, plane)
			if tc.before != nil {
				tc.before(t, s)
			}
			err := tc.refuse(t, s)
			assert.Equal(t, tc.want, shapeOf(err), "%s: %v", tc.reason, err)
		})
	}
}

// withoutGroup makes the stage one of the server that does not serve the group.
func withoutGroup(t *testing.T, s *stage) {
	t.Helper()
	cp, err := old()
	require.NoError(t, err)
	*s = *newStage(t, cp)
}

// terminate deletes the namespace, and keeps it terminating with an object that
// has a finalizer.
func terminate(t *testing.T, s *stage) {
	t.Helper()
	_, err := s.kube.CoreV1().ConfigMaps(s.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, s.kube.CoreV1().Namespaces().Delete(t.Context(), s.namespace, metav1.DeleteOptions{}))
}
