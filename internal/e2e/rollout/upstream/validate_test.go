// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/internal/e2e/rollout/oracle"
	"github.com/proompteng/controllerkit/rollout"
)

// ourVerdicts are those on the typed Rollout and on the manifest.
func ourVerdicts(manifest []byte) (typed, plain string) {
	var m map[string]any
	if err := json.Unmarshal(manifest, &m); err != nil {
		return err.Error(), err.Error()
	}
	if errs := rollout.Validate(&unstructured.Unstructured{Object: m}); len(errs) > 0 {
		plain = errs.ToAggregate().Error()
	}
	var r rollout.Rollout
	if err := json.Unmarshal(manifest, &r); err != nil {
		return err.Error(), plain
	}
	if errs := rollout.Validate(&r); len(errs) > 0 {
		typed = errs.ToAggregate().Error()
	}
	return typed, plain
}

// maker mixes the rows of the table of package rollout's own test of bad
// Rollouts. It leaves trafficRouting to the cluster, as Validate does.
type maker struct {
	base    []byte
	patches []map[string]any
	steps   []any
}

func newMaker(t *testing.T) maker {
	t.Helper()
	golden := oracle.Golden(t, "../../../..")
	m := maker{base: golden.Base}
	for _, name := range slices.Sorted(maps.Keys(golden.Rows)) {
		var patch map[string]any
		require.NoError(t, json.Unmarshal(golden.Rows[name].Patch, &patch))
		canary, _, err := unstructured.NestedMap(patch, "spec", "strategy", "canary")
		if err == nil && canary["trafficRouting"] != nil {
			continue
		}
		m.patches = append(m.patches, patch)
		steps, _ := canary["steps"].([]any)
		m.steps = append(m.steps, steps...)
	}
	return m
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

// TestValidate_AcceptsNothingThatUpstreamRefuses on 100,000 random Rollouts,
// right ones and wrong ones, typed and as manifests.
//
//req:shows R3
func TestValidate_AcceptsNothingThatUpstreamRefuses(t *testing.T) {
	t.Parallel()
	const rollouts = 25_000
	m := newMaker(t)
	for part := range uint64(4) { // half of them wait for an answer
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			asked := make([]oracle.Question, rollouts)
			for i := range asked {
				manifest, err := m.rollout(part*rollouts + uint64(i))
				require.NoError(t, err)
				asked[i].Rollout = manifest
			}
			var both, neither, onlyOurs int
			for i, theirs := range oracle.Ask(t, asked) {
				manifest := asked[i].Rollout
				typed, plain := ourVerdicts(manifest)
				switch refused := theirs.Refused != ""; {
				case refused && (typed == "" || plain == ""):
					require.Failf(t, "refused after the fact, in the cluster",
						"upstream: %s\n  Validate: typed %q, manifest %q\n  %.3000s",
						theirs.Refused, typed, plain, manifest)
				case refused:
					both++
				case typed != "" || plain != "":
					onlyOurs++
				default:
					neither++
				}
			}
			t.Logf("both refuse %d, both accept %d, Validate alone refuses %d", both, neither, onlyOurs)
			require.Greater(t, both, rollouts/10, "the test sees refusals")
			require.Greater(t, neither, rollouts/10, "and correct ones")
		})
	}
}
