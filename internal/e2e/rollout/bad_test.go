// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/proompteng/controllerkit/internal/e2e/rollout/oracle"
)

// TestConvert_MakesNothingThatTheCRDRefuses sends the rows of the package's
// table that Convert accepts. Package upstream asks the code of the controller
// about them too.
//
//req:shows R3
func TestConvert_MakesNothingThatTheCRDRefuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	table := oracle.Golden(t, "../../..")
	base, err := jsonpatch.MergePatch(table.Base, []byte(`{"metadata": {"namespace": null}}`))
	require.NoError(t, err)
	var accepted []json.RawMessage
	for _, row := range table.Rows {
		if !row.Refused {
			manifest, err := jsonpatch.MergePatch(base, row.Patch)
			require.NoError(t, err)
			accepted = append(accepted, manifest)
		}
	}
	list := s.file(map[string]any{"apiVersion": "v1", "kind": "List", "items": accepted})
	s.kubectl("apply --server-side --dry-run=server --validate=strict -f " + list)
}
