// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"math/rand/v2"
	"regexp"
	"strconv"
)

// Maker makes up secrets. The same seed makes the same secrets.
type Maker struct{ *rand.Rand }

// NewMaker returns a Maker.
func NewMaker(seed uint64) Maker { return Maker{rand.New(rand.NewPCG(seed, 0))} }

// Fill replaces each {kind:length} in text by a secret. The comment in
// testdata/leaks.txt has the kinds.
func (m Maker) Fill(text string) string {
	return generator.ReplaceAllStringFunc(text, func(g string) string {
		parts := generator.FindStringSubmatch(g)
		return m.make(parts[1], parts[2])
	})
}

const (
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	decimals  = "0123456789"
	symbols   = "!#$%*+-_.~^"
)

func (m Maker) make(kind, arg string) string {
	n, _ := strconv.Atoi(arg)
	switch kind {
	case "a":
		return m.from(lowerCase+upperCase+decimals, n, "aZ9")
	case "h":
		return m.from("abcdef"+decimals, n, "a1")
	case "u":
		return m.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", n, "A2")
	case "l":
		return m.from(lowerCase+decimals, n, "a1")
	case "d":
		return m.from(decimals, n, "1")
	case "b":
		return m.from(lowerCase+upperCase+decimals+"+/", n, "aZ9+")
	case "w":
		return m.from(lowerCase+upperCase+decimals+"-_", n, "aZ9")
	case "p":
		return m.from(lowerCase+upperCase+decimals+symbols, n, "aZ9!")
	case "c":
		return base64.StdEncoding.EncodeToString([]byte(arg + ":" + m.from(lowerCase+decimals, 12, "a1")))
	}
	return arg
}

// from returns n bytes of alphabet. It begins with one byte of each kind that
// such texts have in practice.
func (m Maker) from(alphabet string, n int, first string) string {
	b := []byte(first[:min(n, len(first))])
	for len(b) < n {
		b = append(b, alphabet[m.IntN(len(alphabet))])
	}
	return string(b)
}

var (
	generator = regexp.MustCompile(`\{([ahuldbwpcs]):([^}]*)\}`)
	// Marked is the part of an example that is masked.
	Marked = regexp.MustCompile(`(?s)<<(.*?)>>`)
)
