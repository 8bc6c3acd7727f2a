// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/e2e/rollout/oracle"
)

// TestValidate_AcceptsNothingThatTheCRDRefuses sends the rows of the package's
// table that Validate accepts. Package upstream asks the code of the controller
// about them too.
//
//req:shows R3
func TestValidate_AcceptsNothingThatTheCRDRefuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	table := oracle.Golden(t, "../../..")
	for name, row := range table.Rows {
		if row.Refused {
			continue
		}
		manifest, err := jsonpatch.MergePatch(table.Base, row.Patch)
		require.NoError(t, err)
		u := new(unstructured.Unstructured)
		require.NoError(t, u.UnmarshalJSON(manifest))
		u.SetNamespace(s.namespace)
		data, err := u.MarshalJSON()
		require.NoError(t, err)
		_, err = s.rollouts.Patch(t.Context(), u.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{
			FieldManager: manager, FieldValidation: "Strict", DryRun: []string{metav1.DryRunAll},
		})
		assert.NoError(t, err, name)
	}
}
