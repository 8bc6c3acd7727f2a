// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
	"sync"
)

const (
	shortestEcho = 6   // a shorter value stands in other words
	longestEcho  = 512 // the rules find a longer one by its shape
	mostEchoes   = 16  // values with the same head
)

// echoes returns where else s has a value that was found in it, and where it
// quotes a part of one. A parser quotes the half of a password that it takes
// for a port.
func echoes(s string, views []view, found []span) []span {
	var x index
	var values strings.Builder
	for _, f := range found {
		if f.to-f.from > longestEcho {
			continue
		}
		for _, v := range levels(s[f.from:f.to]) {
			if len(v.text) < shortestEcho || isOrdinary(v.text) || x.isFull(v.text) {
				continue
			}
			x.add(v.text)
			if values.Len() < longestParts {
				values.WriteString(v.text + "\n")
			}
		}
	}
	all := partsIn(s, values.String())
	for _, v := range views {
		all = append(all, v.sources(x.find(v.text))...)
	}
	return all
}

const (
	shortestPart = 4
	longestPart  = 64
	longestParts = 4096 // of the values that parts are searched in
)

// partsIn returns the quoted texts of s that are a part of the values.
func partsIn(s, values string) []span {
	var parts []span
	open := [...]int{-1, -1, -1} // by quote: the place after the last one
	for i := range len(s) {
		quote := strings.IndexByte("\"'`", s[i])
		if quote < 0 {
			continue
		}
		part := span{open[quote], i}
		open[quote] = i + 1
		if part.from >= 0 && s[part.from] == ':' {
			part.from++
		}
		size := part.to - part.from
		if part.from < 0 || size < shortestPart || size > longestPart {
			continue
		}
		text := s[part.from:part.to]
		if strings.Contains(values, text) && !isOrdinary(text) {
			parts = append(parts, part)
		}
	}
	return parts
}

// isOrdinary reports whether a value is a word that messages have. It is masked
// after its key only.
func isOrdinary(value string) bool { return ordinaryWords().MatchString(value) }

var ordinaryWords = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant
	return regexp.MustCompile(expand(`\A(?:{word}|(?i:[\w-]*(?:password|passwd|pwd|pass|token|secret|key|`+
		`credentials?))|\[redacted\]|[\W_]*)\z`, ""))
})
