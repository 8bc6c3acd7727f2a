// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact masks credentials in text.
package redact

// Text returns s.
func Text(s string) string { return s }

// Note cleans a note.
func Note(s string, redact func(string) string) string {
	if len(s) > 1024 {
		s = s[:1024]
	}
	return redact(s)
}
