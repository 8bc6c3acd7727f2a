// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/jobgc/internal/finalizer"
)

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"agents.example.com/result": true, "": false, "result": false, "foregroundDeletion": false, "a/b/c": false,
		"agents.example.com/": false, "Agents_/result": false, "a.example.com/" + strings.Repeat("x", 64): false,
	} {
		assert.Equal(t, want, finalizer.IsName(name), name)
	}
}

func TestRemoval_TestsTheElementThatItRemoves(t *testing.T) {
	patch, err := json.Marshal(finalizer.Removal([]string{"a.example.com/x", "b.example.com/y"}, "b.example.com/y"))
	require.NoError(t, err)
	assert.JSONEq(t, `[{"op":"test","path":"/metadata/finalizers/1","value":"b.example.com/y"},{"op":"remove","path":"/metadata/finalizers/1"}]`, string(patch))
	assert.Nil(t, finalizer.Removal([]string{"a.example.com/x"}, "b.example.com/y"))
}
