// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden is what internal/e2e/rollout reads: what each row of TestBadRollouts
// sends, and whether it is refused here.
type golden struct {
	Base any            `json:"base"` // the safe canary
	Rows map[string]row `json:"rows"`
}

type row struct {
	Patch   json.RawMessage `json:"patch"` // a merge patch of it
	Refused bool            `json:"refused"`
}

func TestBadRollouts_AreInTheGoldenFile(t *testing.T) {
	const file = "testdata/badrollouts.golden.json"
	g := golden{Base: manifest(t, canary(t)).Object, Rows: map[string]row{}}
	for name, tc := range badRollouts() {
		g.Rows[name] = row{Patch: json.RawMessage(tc.patch), Refused: tc.want != "" && !legal(name)}
	}
	got, err := json.MarshalIndent(g, "", " ")
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got), "rewrite it with -update")
}
