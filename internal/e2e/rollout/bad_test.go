// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/rollout/live"
)

// golden is what package rollout's own test of bad Rollouts wrote down.
type golden struct {
	Base json.RawMessage
	Rows map[string]struct {
		Patch   json.RawMessage
		Refused bool
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "rollout", "testdata", "badrollouts.golden.json"))
	require.NoError(t, err)
	var g golden
	require.NoError(t, json.Unmarshal(data, &g))
	require.NotEmpty(t, g.Rows)
	return g
}

// TestValidate_OnTheRealController sends the rows of the table that Validate
// accepts. The CRD, the controller's code and the controller accept them too.
// Package upstream compares more Rollouts with that code, also refused ones.
//
//req:shows R3
func TestValidate_OnTheRealController(t *testing.T) {
	t.Parallel()
	installed(t)
	g := readGolden(t)
	for name, row := range g.Rows {
		if row.Refused {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Rollouts of the same labels adopt each other's ReplicaSets, and a
			// Service has one Rollout: each has its own namespace.
			s := newNamespace(t, strings.ToLower(name))
			s.references()
			u := s.row(g, name)
			data, err := u.MarshalJSON()
			require.NoError(t, err)
			_, err = s.rollouts.Patch(t.Context(), u.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: manager, FieldValidation: "Strict"})
			require.NoError(t, err)
			s.eventually("the controller accepts it", func(c *assert.CollectT) {
				got, err := s.rollouts.Get(t.Context(), u.GetName(), metav1.GetOptions{})
				require.NoError(c, err)
				phase, message := live.PhaseOf(got)
				require.NotContains(c, []live.Phase{live.NotObserved, live.Invalid}, phase, message)
			})
		})
	}
}

// row is a row of the table, of no pods.
func (s *stage) row(g golden, name string) *unstructured.Unstructured {
	s.Helper()
	here, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"namespace": s.namespace},
		"spec":     map[string]any{"replicas": 0}, // it is the spec that is looked at, which needs no pods
	})
	require.NoError(s, err)
	data, err := jsonpatch.MergePatch(g.Base, here)
	require.NoError(s, err)
	data, err = jsonpatch.MergePatch(data, g.Rows[name].Patch)
	require.NoError(s, err)
	var u unstructured.Unstructured
	require.NoError(s, u.UnmarshalJSON(data))
	return &u
}

// references makes what accepted rows refer to.
func (s *stage) references() {
	s.Helper()
	s.service("a")
	s.service("b")
	d := web("web:1")
	d.Spec.Replicas = new(int32(0))
	_, err := s.kube.AppsV1().Deployments(s.namespace).Create(s.Context(), d, metav1.CreateOptions{})
	require.NoError(s, err)
	_, err = s.kube.CoreV1().PodTemplates(s.namespace).Create(s.Context(),
		&corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Template: d.Spec.Template}, metav1.CreateOptions{})
	require.NoError(s, err)
	s.template("errors", map[string]any{"metrics": []any{map[string]any{
		"name": "x", "count": int64(1), "provider": map[string]any{"web": map[string]any{"url": "http://127.0.0.1", "jsonPath": "{$}"}},
	}}})
}

// template makes an AnalysisTemplate.
func (s *stage) template(name string, spec map[string]any) {
	s.Helper()
	dyn, err := dynamic.NewForConfig(plane.Config())
	require.NoError(s, err)
	_, err = dyn.Resource(live.GVR().GroupVersion().WithResource("analysistemplates")).Namespace(s.namespace).Create(s.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": map[string]any{"name": name}, "spec": spec,
	}}, metav1.CreateOptions{})
	require.NoError(s, err)
}
