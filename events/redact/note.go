// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// noteInput is the number of bytes of a note that Note reads.
	noteInput = 4096
	// noteLimit is the number of bytes that the API server accepts:
	// k8s.io/kubernetes, pkg/apis/core/validation/events.go.
	noteLimit = 1024
)

// Note turns s into a note that the API server accepts, without the credentials
// that redact finds. A nil redact means [Text].
//
// If s is longer than 4 KiB, Note takes the first 4 KiB. It drops the word at
// the cut, because that may be half a credential. A word ends at a blank, a
// quote, a comma, a semicolon, or one of []{}. If no word ends in the first 4
// KiB, the result is "[cut]". Note makes one line of s: control bytes become
// spaces or are dropped, and invalid UTF-8 becomes U+FFFD. It passes that to
// redact, and several lines also before. Then it cuts the result to 1024 bytes
// at the start of a rune. A clean, short s does not change. If redact panics,
// the result names the panic and does not contain s.
func Note(s string, redact func(string) string) string {
	if redact == nil {
		redact = Text
	}
	s = limit(s)
	if strings.Contains(s, "\n") {
		s = guarded(redact, s) // while it has lines: a block of YAML ends by them
	}
	s = limit(clean(s)) // cleaning may make it longer
	s = clean(guarded(redact, s))
	if len(s) <= noteLimit {
		return s
	}
	end := noteLimit
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// guarded calls redact. The value of a panic may hold what redact was to hide,
// so only its type is reported.
func guarded(redact func(string) string, s string) (out string) {
	defer func() {
		if p := recover(); p != nil {
			out = fmt.Sprintf("[withheld: the redactor panicked with a %T]", p)
		}
	}()
	return redact(s)
}

// limit returns the first 4 KiB of s, without the word at the cut.
func limit(s string) string {
	if len(s) <= noteInput {
		return s
	}
	s = s[:noteInput]
	end := strings.LastIndexFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"'`,;{}[]", r)
	})
	if end <= 0 {
		return "[cut]"
	}
	return s[:end]
}

// clean returns one line of valid UTF-8. It drops characters that control a
// terminal or change the direction of text.
func clean(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return strings.Map(cleanRune, s) // an invalid byte reads as U+FFFD
		}
	}
	return s
}

// cleanRune returns the rune to show for r, or -1 for none.
func cleanRune(r rune) rune {
	switch {
	case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029' || r == '\u0085':
		return ' '
	case unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
		return -1
	}
	return r
}
