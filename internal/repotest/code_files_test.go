// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNoFileIsTooLongToRead(t *testing.T) {
	const most = 400
	for name, body := range tracked(t, "*.go") {
		assert.LessOrEqual(t, bytes.Count(body, []byte("\n")), most, "%s has too many lines to read; split it by what it declares", name)
	}
}
