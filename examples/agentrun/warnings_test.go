// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestConfig_MasksWarnings: the election and the release of holds send requests
// too.
func TestConfig_MasksWarnings(t *testing.T) {
	o, err := parse([]string{"--kubeconfig=testdata/kubeconfig.yaml"}, environ(), new(bytes.Buffer))
	require.NoError(t, err)
	config, _, err := o.config()
	require.NoError(t, err)
	require.NotNil(t, config.WarningHandlerWithContext)
	var line string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, text string) { line = text }, funcr.Options{}))
	config.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, 299, "", "env DB_PASSWORD=hV7kQ2mZx9Lp4TbW is deprecated")
	assert.Contains(t, line, "DB_PASSWORD=[redacted] is deprecated")
}
