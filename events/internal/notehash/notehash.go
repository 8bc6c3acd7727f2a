// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notehash tells the notes of Events apart, generated words left out.
package notehash

import (
	"bytes"
	"hash/maphash"
)

// Sum is equal for notes that differ only in generated words. It is never 0.
//
// A word is a run of letters and digits. It looks generated if it is
//   - part of a UUID;
//   - at least 8 bytes long and has a digit before a letter, twice, as hashes
//     and random names do, or has only digits, as a timestamp does;
//   - the last part of a name made with generateName: five of the characters
//     that Kubernetes uses for it, after a hyphen.
func Sum(seed maphash.Seed, text []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for at := 0; at < len(text); {
		from, end := generated(text, at)
		_, _ = h.Write(text[at:from])
		if at = end; from < end {
			_ = h.WriteByte(0)
		}
	}
	return max(h.Sum64(), 1)
}

// generated finds the first generated word of text from i on, where no word is
// cut, or the end of text.
func generated(text []byte, i int) (from, end int) {
	for i < len(text) {
		if !isWord(text[i]) {
			i++
			continue
		}
		digits, changes, end := 0, 0, i
		for ; end < len(text) && isWord(text[end]); end++ {
			if isDigit(text[end]) {
				digits++
			} else if end > i && isDigit(text[end-1]) {
				changes++
			}
		}
		switch n := end - i; {
		case n == 8 && isUUID(text, i):
			return i, i + 36
		case n >= 8 && (digits == n || changes >= 2),
			n == 5 && i > 0 && text[i-1] == '-' && len(bytes.Trim(text[i:end], suffix)) == 0 && (end == len(text) || text[end] != '-'):
			return i, end
		}
		i = end
	}
	return i, i
}

// suffix is the alphabet of k8s.io/apimachinery/pkg/util/rand.
const suffix = "bcdfghjklmnpqrstvwxz2456789"

func isWord(c byte) bool  { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isUUID(text []byte, i int) bool {
	if len(text) < i+36 || len(text) > i+36 && isWord(text[i+36]) {
		return false
	}
	for n, c := range text[i : i+36] {
		if dash := n == 8 || n == 13 || n == 18 || n == 23; dash != (c == '-') || !dash && !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}
