// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
	"github.com/proompteng/controllerkit/rollout"
)

// made is the Rollout that Convert makes of a Deployment with the parts of a
// manifest, and of its strategy. If it refuses, the JSON is nil.
func made(manifest []byte) (out []byte, refused string) {
	var r rollout.Rollout
	err := json.Unmarshal(manifest, &r)
	if err != nil {
		return nil, err.Error()
	}
	d := &appsv1.Deployment{ObjectMeta: r.ObjectMeta}
	d.Spec.Replicas = r.Spec.Replicas
	d.Spec.Selector = r.Spec.Selector
	if r.Spec.Template != nil {
		d.Spec.Template = *r.Spec.Template
	}
	d.Spec.MinReadySeconds = r.Spec.MinReadySeconds
	d.Spec.RevisionHistoryLimit = r.Spec.RevisionHistoryLimit
	d.Spec.ProgressDeadlineSeconds = r.Spec.ProgressDeadlineSeconds
	d.Spec.Paused = r.Spec.Paused
	converted, errs := rollout.Convert(d, rollout.Options{Mutate: func(out *rollout.Rollout) {
		out.Spec.Strategy = r.Spec.Strategy
		out.Spec.WorkloadRef = r.Spec.WorkloadRef
		out.Spec.RollbackWindow = r.Spec.RollbackWindow
		out.Spec.Analysis = r.Spec.Analysis
	}})
	if len(errs) > 0 {
		return nil, errs.ToAggregate().Error()
	}
	out, err = json.Marshal(converted)
	if err != nil {
		return nil, err.Error()
	}
	return out, ""
}

// maker mixes the rows of the table of package rollout's own test of bad
// Rollouts, and the pods and strategies of upstream's examples. It leaves
// trafficRouting to the cluster, as Convert does.
type maker struct {
	base    []byte
	patches []map[string]any
	steps   []any
}

func newMaker(t *testing.T) maker {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "rollout", "testdata", "badrollouts.golden.json"))
	require.NoError(t, err)
	var golden struct {
		Base json.RawMessage
		Rows map[string]struct{ Patch json.RawMessage } // merge patches of Base
	}
	require.NoError(t, json.Unmarshal(data, &golden))
	require.NotEmpty(t, golden.Rows)
	m := maker{base: golden.Base}
	add := func(patch map[string]any) {
		canary, _, err := unstructured.NestedMap(patch, "spec", "strategy", "canary")
		if err == nil && canary["trafficRouting"] != nil {
			return
		}
		m.patches = append(m.patches, patch)
		steps, _ := canary["steps"].([]any)
		m.steps = append(m.steps, steps...)
	}
	for _, name := range slices.Sorted(maps.Keys(golden.Rows)) {
		var patch map[string]any
		require.NoError(t, json.Unmarshal(golden.Rows[name].Patch, &patch))
		add(patch)
	}
	for _, example := range examples(t) {
		delete(example, "metadata")
		add(example)
	}
	return m
}

// examples are the Rollouts of upstream's examples, in its module.
func examples(t *testing.T) (all []map[string]any) {
	t.Helper()
	source, err := build.ArgoRolloutsSource(t.Context())
	require.NoError(t, err)
	for _, dir := range []string{"examples", filepath.Join("test", "e2e")} {
		err := filepath.WalkDir(filepath.Join(source, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all = append(all, rolloutsIn(string(text))...)
			return nil
		})
		require.NoError(t, err)
	}
	require.Greater(t, len(all), 20)
	return all
}

// rolloutsIn are the Rollouts among the documents of a YAML file.
func rolloutsIn(text string) (all []map[string]any) {
	for doc := range strings.SplitSeq("\n"+text, "\n---") {
		var o map[string]any
		err := yaml.Unmarshal([]byte(doc), &o)
		if err == nil && o["kind"] == "Rollout" {
			all = append(all, o)
		}
	}
	return all
}

// rollout is the safe canary with up to three changes, of which some are steps
// of several rows. Most have few, so that about as many are right as wrong, and
// a change is seen alone. Equal seeds make equal Rollouts.
func (m maker) rollout(seed uint64) ([]byte, error) {
	r := rand.New(rand.NewPCG(seed, 1))
	manifest := m.base
	for range r.IntN(4) {
		change := m.patches[r.IntN(len(m.patches))]
		if r.IntN(4) == 0 {
			steps := []any{}
			for range r.IntN(5) {
				steps = append(steps, m.steps[r.IntN(len(m.steps))])
			}
			change = map[string]any{"spec": map[string]any{
				"strategy": map[string]any{"canary": map[string]any{"steps": steps}},
			}}
		}
		patch, err := json.Marshal(change)
		if err != nil {
			return nil, err
		}
		if manifest, err = jsonpatch.MergePatch(manifest, patch); err != nil {
			return nil, err
		}
	}
	return manifest, nil
}

// TestConvert_MakesNothingThatUpstreamRefuses of 100,000 random Deployments and
// options, right ones and wrong ones.
//
//req:shows R3
func TestConvert_MakesNothingThatUpstreamRefuses(t *testing.T) {
	t.Parallel()
	const rollouts = 25_000
	m := newMaker(t)
	for part := range uint64(4) { // half of them wait for an answer
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			var asked []question
			refused := 0
			for i := range uint64(rollouts) {
				manifest, err := m.rollout(part*rollouts + i)
				require.NoError(t, err)
				out, why := made(manifest)
				if why != "" {
					refused++
					continue
				}
				asked = append(asked, question{Rollout: out})
			}
			for i, theirs := range ask(t, asked) {
				require.Empty(t, theirs.Refused, "refused after the fact, in the cluster: %s", asked[i].Rollout)
			}
			t.Logf("Convert refuses %d and makes %d", refused, len(asked))
			require.Greater(t, refused, rollouts/10, "the test sees refusals")
			require.Greater(t, len(asked), rollouts/10, "and correct ones")
		})
	}
}

// TestConvert_TakesUpstreamsExamples, with their traffic routers and analyses,
// and makes what upstream accepts of each. A workloadRef and blue-green are not
// made, and a canary that tests nothing neither.
//
//req:shows R3
func TestConvert_TakesUpstreamsExamples(t *testing.T) {
	t.Parallel()
	var asked []question
	refused := map[string]int{}
	for _, example := range examples(t) {
		manifest, err := json.Marshal(example)
		require.NoError(t, err)
		out, why := made(manifest)
		if why == "" {
			asked = append(asked, question{Rollout: out})
			continue
		}
		field, _, _ := strings.Cut(strings.TrimPrefix(why, "["), ":")
		refused[field]++
	}
	for i, theirs := range ask(t, asked) {
		require.Empty(t, theirs.Refused, "%s", asked[i].Rollout)
	}
	t.Logf("%d are made; refused by field: %v", len(asked), refused)
	require.Greater(t, len(asked), 10)
}
