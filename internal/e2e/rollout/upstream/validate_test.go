// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

type tally struct {
	both, neither, onlyOurs int
	missed                  []string // accepted by Validate and refused by upstream
}

func (c *tally) judge(seed uint64, manifest []byte, theirs oracle.Verdict) {
	typed, plain := ourVerdicts(manifest)
	switch refused := theirs.Refused != ""; {
	case refused && (typed == "" || plain == ""):
		c.missed = append(c.missed, fmt.Sprintf("seed %d: upstream: %s\n  Validate: typed %q, manifest %q\n  %.3000s", seed, theirs.Refused, typed, plain, manifest))
	case refused:
		c.both++
	case typed != "" || plain != "":
		c.onlyOurs++
	default:
		c.neither++
	}
}

// TestValidate_AcceptsNothingThatUpstreamRefuses on 100,000 random Rollouts,
// right ones and wrong ones, typed and as manifests.
//
//req:shows R3
func TestValidate_AcceptsNothingThatUpstreamRefuses(t *testing.T) {
	t.Parallel()
	const (
		rollouts = 100_000
		workers  = 4 // half of them wait for an answer
	)
	var parts [workers]tally
	var all sync.WaitGroup
	for i := range uint64(workers) {
		o := oracle.Start(t, program)
		all.Go(func() {
			for seed := i; seed < rollouts; seed += workers {
				manifest, err := json.Marshal(maker{rand.New(rand.NewPCG(seed, 1))}.rollout())
				var theirs oracle.Verdict
				if err == nil {
					theirs, err = o.Ask(manifest, false)
				}
				if err != nil {
					assert.NoError(t, err)
					return
				}
				parts[i].judge(seed, manifest, theirs)
			}
		})
	}
	all.Wait()
	var c tally
	for _, p := range parts {
		c.both, c.neither, c.onlyOurs, c.missed = c.both+p.both, c.neither+p.neither, c.onlyOurs+p.onlyOurs, append(c.missed, p.missed...)
	}
	t.Logf("of %d Rollouts both refuse %d, both accept %d, Validate alone refuses %d, upstream alone %d", rollouts, c.both, c.neither, c.onlyOurs, len(c.missed))
	for _, m := range c.missed[:min(len(c.missed), 10)] {
		t.Log(m)
	}
	require.Empty(t, c.missed[:min(len(c.missed), 1)], "each would be refused after the fact, in the cluster")
	require.Equal(t, rollouts, c.both+c.neither+c.onlyOurs)
	require.Greater(t, c.both, rollouts/10, "the test sees refusals")
	require.Greater(t, c.neither, rollouts/10, "and correct ones")
}

// TestValidate_OfTheTable asks about the rows of the package's own table that
// Validate accepts.
func TestValidate_OfTheTable(t *testing.T) {
	t.Parallel()
	o := oracle.Start(t, program)
	for name, row := range oracle.Golden(t, "../../../..") {
		if row.Refused {
			continue
		}
		var line bytes.Buffer
		require.NoError(t, json.Compact(&line, row.Manifest))
		theirs, err := o.Ask(line.Bytes(), false)
		require.NoError(t, err)
		assert.Empty(t, theirs.Refused, name)
	}
}
