// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events/redact"
)

func FuzzText(f *testing.F) {
	m := redact.NewMaker(1)
	for _, g := range groups(f, "leaks.txt") {
		for _, marked := range g.texts {
			text, _ := split(m.Fill(marked))
			f.Add(text)
		}
	}
	for _, s := range []string{
		"token: foo [redacted]", `password:"a\"b`,
		"a://b:c@d@e", "://:@/@", "Bearer  ", "[redacted",
		"password=[redacted]x", `{"data":{"a":"`,
		"cookie: a=b; c", "secret: a:b: c", "-----BEGIN PRIVATE KEY",
		"pwd:[", "x@tcp(", "a:b@tcp(", `\`, `\u`, "%4", "=[]uint8{", "<pass>",
	} {
		f.Add(s)
	}
	f.Add("://:a/b@d\x1eO@")
	f.Add("jwt: oey" + "JaZ9-V_tNkeGW8hFNS\"JU.ey" + "JaZ9-V_tNkeGW8hFNS:")
	f.Fuzz(func(t *testing.T, s string) {
		once := redact.Text(s)
		require.Equal(t, once, redact.Text(once), "redacting twice changes nothing")
		if utf8.ValidString(s) {
			require.True(t, utf8.ValidString(once), "valid UTF-8 stays valid")
		}
		if once != s {
			require.Contains(t, once, redact.Mask)
		}
	})
}

// FuzzSecretValues: the value never remains, wherever it is in the text.
func FuzzSecretValues(f *testing.F) {
	f.Add("a value of it", "it is a value of it", 3)
	f.Add("]and more", "[redacted]and more", 2)
	f.Add("abcdefgh", "abcdabcdefghefgh", 0)
	f.Add("password=", "password=password=", 4)
	f.Add("[redacted] x", "token: [redacted] x", 1)
	f.Fuzz(func(t *testing.T, value, text string, at int) {
		var secrets redact.SecretValues
		taken := secrets.Add([]byte(value))
		at = max(0, at%(len(text)+1))
		whole := text[:at] + value + text[at:]
		once := secrets.Redact(whole)
		require.Equal(t, once, secrets.Redact(once), "redacting twice changes nothing")
		if taken == 1 {
			require.NotContains(t, once, strings.TrimSpace(value))
		}
		valid := utf8.ValidString(whole) && utf8.ValidString(value)
		if valid {
			require.True(t, utf8.ValidString(once), "valid UTF-8 stays valid")
		}
	})
}

func FuzzNote(f *testing.F) {
	f.Add("a value", "it is a value, a value", 3)
	f.Add("päßwörter", strings.Repeat("päßwörter ", 600), 0)
	f.Add("line\nbreak\x00s", "line break line\nbreak\x00s", 1)
	f.Add("]and more", "[redacted]and more", 2)
	f.Add("abcdefgh", "abcdabcdefghefgh", 0)
	f.Fuzz(func(t *testing.T, value, text string, at int) {
		var secrets redact.SecretValues
		taken := secrets.Add([]byte(value))
		if n := len(text); n > 0 {
			at = (at%n + n) % n
		} else {
			at = 0
		}
		note := redact.Note(text[:at]+value+text[at:], secrets.Redact)
		require.True(t, utf8.ValidString(note))
		require.LessOrEqual(t, len(note), 1024)
		require.False(t, strings.ContainsFunc(note, unicode.IsControl), note)
		if taken == 1 {
			require.NotContains(t, note, strings.TrimSpace(value))
		}
	})
}
