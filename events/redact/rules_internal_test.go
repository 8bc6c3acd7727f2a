// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRules_FindTheirExample: each rule alone masks the marked part of its
// example and nothing else, and keeps its counterexample.
func TestRules_FindTheirExample(t *testing.T) {
	for _, r := range allRules() {
		t.Run(r.name, func(t *testing.T) {
			require.NotEmpty(t, r.harmless, "a rule has a counterexample")
			alone := compile(keys(), []rule{r})
			harmless := NewMaker(1).Fill(r.harmless)
			assert.Equal(t, harmless, alone.mask(harmless))
			if r.leak == "" {
				return
			}
			leak := NewMaker(1).Fill(r.leak)
			text := Marked.ReplaceAllString(leak, "$1")
			assert.Equal(t, Marked.ReplaceAllLiteralString(leak, Mask), alone.mask(text))
		})
	}
}

// TestRules_ThatKeepAreNeeded: without a rule that only keeps, the other rules
// mask a part of its counterexample.
func TestRules_ThatKeepAreNeeded(t *testing.T) {
	all := allRules()
	for i, r := range all {
		if r.leak != "" {
			continue
		}
		others := compile(keys(), slices.Delete(slices.Clone(all), i, i+1))
		assert.NotEqual(t, r.harmless, others.mask(r.harmless), r.name)
		assert.Equal(t, r.harmless, Text(r.harmless), r.name)
	}
}

// TestKeys_AreWholeWords: the expression of each key matches its example, and
// not its counterexample.
func TestKeys_AreWholeWords(t *testing.T) {
	for i, k := range keys() {
		find := compiled().keys[i].find
		assert.True(t, find.MatchString(k.example), k.name)
		assert.False(t, find.MatchString(k.harmless), k.name)
	}
}

// TestRules_NameTheirKeys: a rule after a key that does not exist would belong
// to the first one.
func TestRules_NameTheirKeys(t *testing.T) {
	var names []string
	for _, k := range keys() {
		names = append(names, k.name)
	}
	for _, r := range allRules() {
		for _, name := range regexp.MustCompile(`\S+`).FindAllString(r.after, -1) {
			assert.Contains(t, names, name, r.name)
		}
	}
}

// TestRules_NameKnownFragments: a name in braces that does not exist would be
// part of the expression.
func TestRules_NameKnownFragments(t *testing.T) {
	unknown := regexp.MustCompile(`\{[a-z]+\d*\}`)
	for _, r := range allRules() {
		for _, expression := range []string{r.find, r.each, r.keep} {
			assert.Empty(t, unknown.FindString(expand(expression, r.keywords)), r.name)
		}
	}
}

// TestNames_HaveShortWords: a long name of upper case, lower case and digits is
// no credential, even if one of its words has two letters.
func TestNames_HaveShortWords(t *testing.T) {
	for _, short := range []string{
		"An", "As", "At", "Be", "By", "Db", "Do", "Go", "Id", "If", "In", "Ip", "Is", "It", "My", "No", "Of",
		"On", "Or", "Os", "To", "Up", "V2", "v2",
	} {
		text := "TestReconcile" + short + "Deployment2WhenMissing failed"
		assert.Equal(t, text, Text(text))
	}
}
