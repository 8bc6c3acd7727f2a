// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events/redact"
)

// unseen returns the cases of a file in testdata/unseen. They were written
// after the last rule, by a person who had not read the table. Do not change
// rules for them.
//
// A case has one line or more. A line with three hyphens alone is between two
// cases. Lines at the beginning of a case that begin with a number sign and a
// blank are a comment. In credentials.txt each secret part stands between <<
// and >>. There, and in harmless.txt, {kind:length} is random text, so that no
// file has text that looks like a credential. The comment in leaks.txt has the
// kinds.
func unseen(tb testing.TB, name string) []string {
	tb.Helper()
	file, err := os.ReadFile("testdata/unseen/" + name)
	require.NoError(tb, err)
	m := redact.NewMaker(1)
	var cases []string
	for text := range strings.SplitSeq(strings.TrimSpace(string(file)), "\n---\n") {
		for strings.HasPrefix(text, "# ") {
			_, text, _ = strings.Cut(text, "\n")
		}
		cases = append(cases, m.Fill(text))
	}
	require.Len(tb, cases, 60)
	return cases
}

// TestText_OnUnseenCredentials: none of a masked case's secret parts stays, nor
// half of one of 12 bytes or more.
//
//req:shows E5
func TestText_OnUnseenCredentials(t *testing.T) {
	var leaks []string
	for _, marked := range unseen(t, "credentials.txt") {
		if !isMasked(t, marked) {
			leaks = append(leaks, marked)
		}
	}
	assert.LessOrEqual(t, len(leaks), 60-48, strings.Join(leaks, "\n---\n"))
}

//req:shows E5
func TestText_OnUnseenHarmlessTexts(t *testing.T) {
	var altered []string
	for _, text := range unseen(t, "harmless.txt") {
		if redact.Text(text) != text {
			altered = append(altered, redact.Text(text))
		}
	}
	assert.LessOrEqual(t, len(altered), 2, strings.Join(altered, "\n---\n"))
}

func isMasked(tb testing.TB, marked string) bool {
	tb.Helper()
	text, _ := split(marked)
	got := redact.Text(text)
	secrets := redact.Marked.FindAllStringSubmatch(marked, -1)
	require.NotEmpty(tb, secrets, "a case marks its secret: %s", marked)
	for _, m := range secrets {
		secret := m[1]
		parts := []string{secret}
		half := len(secret) / 2
		if len(secret) >= 12 {
			parts = []string{secret[:half], secret[half:]}
		}
		for _, part := range parts {
			if strings.Contains(got, part) {
				return false
			}
		}
	}
	return true
}
