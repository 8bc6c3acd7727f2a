// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/events/redact"
)

// TestNote_WithholdsATextWhoseRedactorPanics: the value of the panic may hold
// the secret.
func TestNote_WithholdsATextWhoseRedactorPanics(t *testing.T) {
	got := redact.Note("password=hunter2", func(s string) string { panic(s) })
	assert.Equal(t, "[withheld: the redactor panicked with a string]", got)
}

func TestNote(t *testing.T) {
	cases := map[string]struct{ reason, in, want string }{
		"Clean": {"A clean note does not change.", "step build failed", "step build failed"},
		"Empty": {"The API server takes an empty note.", "", ""},
		"Lines": {"kubectl prints one line for an event.", "a\nb\r\nc\td", "a b  c d"},
		"Control": {
			"A note must not control a terminal.",
			"a\x1b[31mred\x00\x7f\u009bb", "a[31mredb",
		},
		"Bidi":        {"A note must not change the direction of text.", "a\u202eb\u2066c", "abc"},
		"Separators":  {"Unicode has two more line breaks.", "a\u2028b\u0085c", "a b c"},
		"InvalidUTF8": {"protobuf accepts only valid UTF-8.", "a\xffb\xc3", "a\ufffdb\ufffd"},
		"OtherScripts": {
			"Text is not only ASCII.",
			"größe überschritten 日本 🙂", "größe überschritten 日本 🙂",
		},
		"TwoByteRunes": {
			"The limit counts bytes: 513 of these are too many.",
			strings.Repeat("é", 600), strings.Repeat("é", 512),
		},
		"ExactlyTheLimit": {
			"1024 bytes are taken.",
			strings.Repeat("x", 1024), strings.Repeat("x", 1024),
		},
		"EdgesOfControl": {
			"The neighbors of the dropped characters stay.",
			"a~\u00a0\u2027\u202f\u2065\u206ab", "a~\u00a0\u2027\u202f\u2065\u206ab",
		},
		"EveryBidi": {
			"Embeddings, overrides and isolates.",
			"a\u202a\u202e\u2066\u2069\u0080\u009fb", "ab",
		},
		"LineSeparator": {"The line separator alone is enough.", "a\u2028b", "a b"},
		"BlankThenAWord": {
			"Only the cut word is in the note.",
			" " + strings.Repeat("x", 5000), "[cut]",
		},
		"FourKiBOfAWord": {"Nothing was cut yet.", strings.Repeat("x", 4096), strings.Repeat("x", 1024)},
		"ThreeByte": {
			"No rune is cut in half.",
			strings.Repeat("日", 600), strings.Repeat("日", 341),
		},
		"TenMegabytes": {
			"Note reads at most 4 KiB.",
			strings.Repeat("spam ", 2<<20), strings.Repeat("spam ", 205)[:1024],
		},
		"OneHugeWord": {
			"The word at the cut may be half a secret.",
			strings.Repeat("x", 10<<20), "[cut]",
		},
		"SecretAtCut": {
			"A secret at the cut must not be half visible.",
			"a " + strings.Repeat("b", 4000) + " ghp" + "_" + strings.Repeat("A1b2", 90),
			"a " + strings.Repeat("b", 1022),
		},
		"MaskBeforeCut": {
			"Redaction comes before truncation.",
			strings.Repeat("c", 1010) + " password=" + strings.Repeat("Zx9", 300),
			strings.Repeat("c", 1010) + " password=[red",
		},
		"BrokenToken": {
			"A control byte must not hide a token.",
			"gh" + "p_\x00" + strings.Repeat("aB3", 12), redact.Mask,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := redact.Note(tc.in, nil)
			assert.Equal(t, tc.want, got, tc.reason)
			assert.LessOrEqual(t, len(got), 1024)
			assert.True(t, utf8.ValidString(got))
		})
	}
}

func TestNoteTrustsNoRedactor(t *testing.T) {
	got := redact.Note("x", func(string) string { return "\xff\n" + strings.Repeat("é", 1000) })
	assert.LessOrEqual(t, len(got), 1024)
	assert.True(t, utf8.ValidString(got))
	assert.NotContains(t, got, "\n")
}

func TestARedactorIsNeverGivenMoreThanItsLimit(t *testing.T) {
	for _, text := range []string{strings.Repeat("word ", 1<<20), strings.Repeat("\xff ", 4096)} {
		redact.Note(text, func(s string) string {
			assert.LessOrEqual(t, len(s), 4096)
			assert.NotEmpty(t, s)
			return s
		})
	}
}

// TestNote_KeepsALongTextWithoutBlanks, such as JSON: it drops only the word at
// the cut.
func TestNote_KeepsALongTextWithoutBlanks(t *testing.T) {
	json := `{"error":"denied","items":[` + strings.Repeat(`"run-1",`, 1000) + `]}`
	got := redact.Note(json, nil)
	assert.True(t, strings.HasPrefix(got, `{"error":"denied","items":["run-1","run-1",`), got)
	assert.Len(t, got, 1024)
	assert.Equal(t, "[cut]", redact.Note(strings.Repeat("a1", 4096), nil),
		"one word may be half a credential")
	secret := "s3cr3t" + "pass"
	edge := strings.Repeat(`"a",`, 1022) + `"url":"postgres://u:` + secret + `@db"`
	assert.NotContains(t, redact.Note(edge, nil), secret[:4])
}

// TestKeysAfterASensitiveKey: a parent in YAML, or a key without a value.
func TestKeysAfterASensitiveKey(t *testing.T) {
	const secret = "xK9mQ2vL8pR4"
	for _, text := range []string{
		"auth:\n  client_secret: " + secret,
		"auth:\r\n  api_token: " + secret,
		"auth:   api_token: " + secret,
		"password:\n  db_password: " + secret,
		"auth:\n  \"client_secret\": \"" + secret + "\"",
		"token:\n  - api_token: " + secret,
		"name: DB_PASSWORD\n  value:\n  api_token: " + secret,
	} {
		assert.NotContains(t, redact.Text(text), secret, "%q", text)
		assert.NotContains(t, redact.Note(text, nil), secret, "%q", text)
	}
	assert.Equal(t, "auth:\n  user_name: admin", redact.Text("auth:\n  user_name: admin"))
}

// TestAValueThatEndsLikeAKey, with a colon after it, as in the errors of fields
// and in chains of errors.
func TestAValueThatEndsLikeAKey(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{
			`spec.password: Invalid value: "Sup3rPassword": must contain a symbol`,
			`spec.password: Invalid value: "[redacted]": must contain a symbol`,
		},
		{
			`spec.token: Invalid value: "x9K2mSecretToken1": bad`,
			`spec.token: Invalid value: "[redacted]": bad`,
		},
		{`password: "Sup3rPassword": access denied`, `password: "[redacted]": access denied`},
		{`password: Sup3rPassword1: access denied`, `password: [redacted] access denied`},
		{`--password "my-token": denied`, `--password "[redacted]": denied`},
	} {
		assert.Equal(t, tc.want, redact.Text(tc.text))
		assert.Equal(t, tc.want, redact.Note(tc.text, nil))
	}
	assert.NotContains(t, redact.Text(`Authorization: Bearer my-token: denied`), "my-token")
}

// TestAllLinesOfABlock: base64 prints lines of 76 characters.
func TestAllLinesOfABlock(t *testing.T) {
	const (
		first = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVoxMjM0NTY3ODkwYWJj"
		last  = "eEs5bVEydkw4cFI0eEs5bVEydkw4cFI0"
	)
	for _, text := range []string{
		"kind: Secret\ndata:\n  key: |\n    " + first + "\n    " + last + "\ntype: Opaque\nnext: fine",
		"config: privateKey: |\n  " + first + "\n  " + last + "\nnext: fine",
		"config: password: >-\n  xK9mQ2vL8pR4\n\n  " + last + "\n next: fine",
		"config: password: |\n  xK9mQ2vL8pR4 " + last + "\nnext: fine",
		"env:\n- name: DB_PASSWORD\n  value: |\n    xK9mQ2vL8pR4\n    " + last + "\n- name: x\nnext: fine",
		"x: |\n  password: |\n    xK9mQ2vL8pR4\n    " + last + "\n  next: fine",
	} {
		for _, out := range []string{redact.Text(text), redact.Note(text, nil)} {
			assert.NotContains(t, out, last)
			assert.Contains(t, out, "next: fine")
		}
	}
}

// TestText_ValuesOnTheNextLine: Note has no lines, and Text keeps them.
func TestText_ValuesOnTheNextLine(t *testing.T) {
	for text, want := range map[string]string{
		"config: password:\txK9mQ2vL8pR4":           "config: password:\t[redacted]",
		"config: password:\n  xK9mQ2vL8pR4":         "config: password:\n  [redacted]",
		"config: password:\r\n\txK9mQ2vL8pR4":       "config: password:\r\n\t[redacted]",
		"config: password: |\n  xK9mQ2vL8pR4\nx: y": "config: password: |\n  [redacted]\nx: y",
		"config: password: !!str\n  xK9mQ2vL8pR4":   "config: password: !!str\n  [redacted]",
		// A key without a value, and the next one.
		"config: password:\nxK9mQ2vL8pR4: y":     "config: password:\nxK9mQ2vL8pR4: y",
		"config: password:\n\nxK9mQ2vL8pR4":      "config: password:\n\nxK9mQ2vL8pR4",
		"config: password:\n  file: a\n  key: b": "config: password:\n  file: a\n  key: b",
	} {
		assert.Equal(t, want, redact.Text(text))
	}
}
