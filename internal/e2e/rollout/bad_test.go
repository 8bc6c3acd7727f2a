// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/internal/e2e/rollout/oracle"
	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// golden is what package rollout's own test of bad Rollouts wrote down.
type golden struct {
	Base map[string]any
	Rows map[string]struct {
		Patch   map[string]any
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

// sent is one row as it came to the cluster.
type sent struct {
	refused                bool   // by us
	strict, create, theirs bool   // refused by a strict apply, by a create that drops unknown fields, by the code of upstream
	object                 string // its name, if it was created
	state                  live.Phase
}

// TestValidate_OnTheRealController sends every row of the table: what we let
// through the CRD, the controller's code and the controller all accept. The
// rest we refuse before; they see it later, one mistake at a time, or never.
//
//req:shows R3
func TestValidate_OnTheRealController(t *testing.T) {
	t.Parallel()
	s, g, o := newStage(t), readGolden(t), oracle.Start(t, oraclePath)
	// These make the controller fail before it can report it: none is ever
	// called invalid, most get no status at all, only its log tells.
	silent := []string{"SelectorHasOwnLabel", "SelectorOperatorFoo", "SelectorValueTooLong", "SelectorExistsWithValue", "SelectorInWithoutValues"}
	// Rollouts of the same labels adopt each other's ReplicaSets, and a Service
	// has one Rollout: each is seen alone.
	stages := []*stage{s}
	rows := map[string]*sent{}
	for name, row := range g.Rows {
		to := s
		if !row.Refused || slices.Contains(silent, name) {
			to = newNamespace(t, strings.ToLower(name))
			to.references()
			stages = append(stages, to)
		}
		rows[name] = to.send(o, name, g.Base, row.Patch, row.Refused)
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		states := map[string]live.Phase{}
		for _, s := range stages {
			list, err := s.rollouts.List(t.Context(), metav1.ListOptions{})
			require.NoError(c, err)
			for i := range list.Items {
				states[list.Items[i].GetName()], _ = live.PhaseOf(&list.Items[i])
			}
		}
		var waiting []string
		for name, row := range rows {
			if row.state = states[row.object]; row.state == live.NotObserved && !slices.Contains(silent, name) {
				waiting = append(waiting, name)
			}
		}
		require.Empty(c, waiting)
	}, 2*time.Minute, time.Second, "the controller has an opinion of all others")
	refusing, ours := map[string]int{}, 0
	for name, row := range rows {
		invalid := row.state == live.Invalid
		if !row.refused {
			assert.False(t, row.strict || row.create || row.theirs || invalid, "accepted here, and not there: %s %+v", name, *row)
			assert.NotEqual(t, live.NotObserved, row.state, name)
			continue
		}
		ours++
		for by, refused := range map[string]bool{
			"a create": row.create, "a strict apply": row.strict, "upstream's code": row.theirs, "its controller, afterwards": invalid, "nobody": !row.strict && !row.create && !invalid,
		} {
			if refused {
				refusing[by]++
			}
		}
	}
	for _, name := range silent {
		assert.Contains(t, []live.Phase{live.NotObserved, live.Progressing}, rows[name].state, name)
	}
	t.Logf("of %d rows Validate refuses %d before they are sent; who else refuses these: %v", len(rows), ours, refusing)
	assert.Positive(t, refusing["nobody"], "which is why they are refused here")
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

func (s *stage) send(o *oracle.Oracle, name string, base, patch map[string]any, refused bool) *sent {
	s.Helper()
	m := copied(s.T, base)
	merge(m, patch)
	meta := m["metadata"].(map[string]any)
	meta["namespace"] = s.namespace
	if meta["name"] == base["metadata"].(map[string]any)["name"] {
		meta["name"] = strings.ToLower(name)
	}
	spec := m["spec"].(map[string]any)
	if spec["replicas"] == base["spec"].(map[string]any)["replicas"] {
		spec["replicas"] = int64(0) // it is the spec that is looked at; a hundred rows need no pods
	}
	data, err := json.Marshal(m)
	require.NoError(s, err)
	r := &sent{refused: refused}
	ours := len(rollout.Validate(&unstructured.Unstructured{Object: copied(s.T, m)})) > 0
	assert.True(s, ours == refused || refused, name) // without pods nothing is asked of counts
	v, err := o.Ask(data, false)
	require.NoError(s, err)
	r.theirs = v.Refused != ""
	_, err = s.rollouts.Patch(s.Context(), meta["name"].(string), types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: manager, FieldValidation: "Strict", DryRun: []string{"All"}})
	r.strict = err != nil
	u, err := s.rollouts.Create(s.Context(), &unstructured.Unstructured{Object: m}, metav1.CreateOptions{FieldValidation: "Ignore"})
	if r.create = err != nil; err == nil {
		r.object = u.GetName()
	}
	return r
}

// copied is a deep copy with the numbers of a decoded manifest.
func copied(t *testing.T, m map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(m)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, utiljson.Unmarshal(data, &out))
	return out
}

func merge(into, patch map[string]any) {
	for key, value := range patch {
		sub, isObject := value.(map[string]any)
		old, wasObject := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isObject && wasObject:
			merge(old, sub)
		default:
			into[key] = value
		}
	}
}
