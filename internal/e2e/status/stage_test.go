// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/client"
)

// stage is a namespace with clients of all rights.
type stage struct {
	runs    *client.Client
	dynamic func(schema.GroupVersionResource) dynamic.ResourceInterface
}

// newStage makes a namespace for the test.
func newStage(t *testing.T) *stage {
	t.Helper()
	kube, err := kubernetes.NewForConfig(plane.Config())
	require.NoError(t, err)
	ns, err := kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "status-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	dyn, err := dynamic.NewForConfig(plane.Config())
	require.NoError(t, err)
	ofRuns, err := client.New(plane.Config())
	require.NoError(t, err)
	return &stage{
		runs: ofRuns(ns.Name),
		dynamic: func(r schema.GroupVersionResource) dynamic.ResourceInterface {
			return dyn.Resource(r).Namespace(ns.Name)
		},
	}
}

// read returns the stored AgentRun "a".
func (s *stage) read(t *testing.T) *v1alpha1.AgentRun {
	t.Helper()
	run, err := s.runs.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	return run
}

// object creates an object through the dynamic client.
func (s *stage) object(t *testing.T, r schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	kind := strings.ToUpper(r.Resource[:1]) + strings.TrimSuffix(r.Resource[1:], "s")
	if r == runs {
		kind = "AgentRun"
	}
	u, err := s.dynamic(r).Create(t.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": r.GroupVersion().String(), "kind": kind, "metadata": object{"name": name}, "spec": object{"image": "old"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return u
}

// readLoose reads the stored object as a dynamic client does.
func (s *stage) readLoose(t *testing.T, r schema.GroupVersionResource) *unstructured.Unstructured {
	t.Helper()
	u, err := s.dynamic(r).Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	return u
}

// withStatus returns a copy with fields of the status set.
func withStatus(u *unstructured.Unstructured, fields object) *unstructured.Unstructured {
	u = u.DeepCopy()
	now, _, _ := unstructured.NestedMap(u.Object, "status")
	if now == nil {
		now = object{}
	}
	maps.Copy(now, fields)
	u.Object["status"] = now
	return u
}
