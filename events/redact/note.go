// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	noteInput = 4096 // of a note, the most that is looked at
	noteLimit = 1024 // bytes that the API server takes: k8s.io/kubernetes pkg/apis/core/validation/events.go
)

// Note makes a note of s that the API server accepts and that holds no credential redact finds; nil stands for [Text].
//
// Of more than 4 KiB it takes the first 4 KiB without the word that the cut fell into, which may be half a credential.
// Control bytes become spaces or go, invalid UTF-8 becomes U+FFFD, then redact cleans the text, and only then is it cut to
// 1024 bytes at the start of a rune. A clean, short s is returned as it is.
func Note(s string, redact func(string) string) string {
	if redact == nil {
		redact = Text
	}
	s = limit(clean(limit(s))) // cleaning may make it longer
	s = clean(redact(s))
	if len(s) <= noteLimit {
		return s
	}
	end := noteLimit
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// limit is the first 4 KiB of s, without the word that the cut fell into.
func limit(s string) string {
	if len(s) <= noteInput {
		return s
	}
	s = s[:noteInput]
	end := strings.LastIndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	if end <= 0 {
		return "[cut]"
	}
	return s[:end]
}

// clean makes one line of valid UTF-8 that cannot steer a terminal or turn the direction of the text.
func clean(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return cleanFrom(s, i)
		}
	}
	return s
}

func cleanFrom(s string, dirty int) string {
	if isClean(s[dirty:]) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + utf8.UTFMax)
	b.WriteString(s[:dirty])
	for _, r := range s[dirty:] { // an invalid byte reads as U+FFFD
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			b.WriteByte(' ')
		case steers(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isClean(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if steers(r) {
			return false
		}
	}
	return true
}

// steers reports whether r is a control character, breaks the line or overrides the direction of text.
func steers(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= '\u2028' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
