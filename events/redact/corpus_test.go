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

// A group is a reason, and the texts of a file in testdata that it holds for.
type group struct {
	reason string
	texts  []string
}

// groups returns the texts of a file. Two number signs begin a comment, one
// begins a reason.
func groups(tb testing.TB, name string) []group {
	tb.Helper()
	file, err := os.ReadFile("testdata/" + name)
	require.NoError(tb, err)
	var all []group
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSuffix(line, "\n")
		reason, isReason := strings.CutPrefix(line, "# ")
		switch {
		case strings.HasPrefix(line, "##"):
		case isReason:
			all = append(all, group{reason: reason})
		default:
			last := &all[len(all)-1]
			last.texts = append(last.texts, line)
		}
	}
	return all
}

// split returns a text without its marks, and as Text returns it if it masks
// exactly what is marked.
func split(marked string) (text, masked string) {
	text = redact.Marked.ReplaceAllString(marked, "$1")
	return text, redact.Marked.ReplaceAllLiteralString(marked, redact.Mask)
}

// TestText_MasksExactlyTheCredential: the text around it makes the message
// useful.
//
//req:shows E5
func TestText_MasksExactlyTheCredential(t *testing.T) {
	for seed := range uint64(3) {
		m := redact.NewMaker(seed)
		for _, g := range groups(t, "leaks.txt") {
			for _, marked := range g.texts {
				text, masked := split(m.Fill(marked))
				assert.Equal(t, masked, redact.Text(text), g.reason)
				assert.Equal(t, masked, redact.Text(masked), "redacting twice changes nothing")
			}
		}
	}
}

//req:shows E5
func TestText_AltersNoHarmlessMessage(t *testing.T) {
	for _, g := range groups(t, "harmless.txt") {
		for _, text := range g.texts {
			assert.Equal(t, text, redact.Text(text), g.reason)
			assert.Equal(t, text, redact.Note(text, nil), g.reason)
		}
	}
}
