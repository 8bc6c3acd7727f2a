// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/events/redact"
)

// The regular expression is a fair peer if it finds the same in each family,
// and nothing in the note.
func TestTheRegexpDoesTheSameJob(t *testing.T) {
	re := alternation()
	for _, leak := range []string{
		"dial postgres://app:" + "s3cr3t-pw" + "@db:5432/app: timeout", "Authorization: Bearer " + "abc123def456",
		"-----BEGIN " + "PRIVATE KEY----- abc", "eyJ" + "hbGciOiJIUzI1.eyJzdWIiOiIx.abc", "gh" + "p_0123456789abcdefABCDEF",
		"AK" + "IAABCDEFGHIJKLMNOP", "password=" + "hunter22", `{"client_secret":"` + `0a1b2c3d4e5f"}`,
	} {
		assert.NotEqual(t, leak, redact.Text(leak))
		assert.NotEqual(t, leak, re.ReplaceAllString(leak, redact.Mask))
	}
	assert.Equal(t, note, redact.Text(note))
	assert.Equal(t, note, re.ReplaceAllString(note, redact.Mask))
}
