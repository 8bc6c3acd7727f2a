// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"hash/fnv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/events/redact"
)

// isHidden reports whether a line of the wild corpus is only counted. The rules
// cannot be fitted to a line that no test prints.
func isHidden(line string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(line)) // a hash never fails
	return h.Sum32()%3 == 0
}

// A score counts the texts of a group, and the texts that Text handled well.
type score struct {
	texts, good int
	bad         []string // the others
}

func (s *score) add(text string, good bool) {
	s.texts++
	if good {
		s.good++
		return
	}
	s.bad = append(s.bad, text)
}

// share returns how many percent of the texts are good.
func (s *score) share() float64 { return 100 * float64(s.good) / float64(s.texts) }

// wildScores returns the scores of the leaks by group, and under "harmless" the
// score of the harmless messages, which are good if they stay.
func wildScores(tb testing.TB, hidden bool) map[string]*score {
	tb.Helper()
	scores := map[string]*score{"harmless": {}, "named": {}}
	add := func(group, text string, good bool) {
		if scores[group] == nil {
			scores[group] = &score{}
		}
		scores[group].add(text, good)
	}
	leaks := marks(tb, "wild/leaks.txt", 1)
	for i, line := range lines(tb, "wild/leaks.txt") {
		if isHidden(line) != hidden {
			continue
		}
		group, _, _ := strings.Cut(line, " ")
		good := isMasked(leaks[i])
		add(group, line, good)
		if group != "bare" {
			add("named", line, good)
		}
	}
	for _, m := range lines(tb, "wild/harmless.txt") {
		if isHidden(m) == hidden {
			add("harmless", m, redact.Text(m) == m)
		}
	}
	return scores
}

// isMasked reports whether Text leaves no secret of the leak, and no half of a
// long one.
func isMasked(l leak) bool {
	got := redact.Text(l.text)
	for _, secret := range l.secrets {
		parts := []string{secret}
		if n := len(secret); n >= 12 {
			parts = []string{secret[:n/2], secret[n/2:]}
		}
		for _, part := range parts {
			if strings.Contains(got, part) {
				return false
			}
		}
	}
	return true
}

func TestWildCorpus_IsWide(t *testing.T) {
	kinds := map[string]bool{}
	for _, l := range marks(t, "wild/leaks.txt", 1) {
		_, kind, _ := strings.Cut(l.kind, " ")
		kinds[kind] = true
		assert.NotEmpty(t, l.secrets, l.text)
	}
	for _, line := range lines(t, "wild/kinds.txt") {
		kind, where, _ := strings.Cut(line, "|")
		assert.True(t, kinds[kind], "%s has a leak", kind)
		assert.NotEmpty(t, where, "kinds.txt says where %s is documented", kind)
	}
	assert.Len(t, lines(t, "wild/kinds.txt"), len(kinds))
	assert.GreaterOrEqual(t, len(kinds), 40)
	assert.GreaterOrEqual(t, len(lines(t, "wild/leaks.txt")), 150)
	assert.GreaterOrEqual(t, len(lines(t, "wild/harmless.txt")), 300)
}

// TestText_OnTheWildCorpus: credentials of kinds that the rules do not list by
// name, and messages as other controllers write them.
//
//req:shows E5
func TestText_OnTheWildCorpus(t *testing.T) {
	open := wildScores(t, false)
	assert.GreaterOrEqual(t, open["named"].share(), 95.0, open["named"].bad)
	assert.GreaterOrEqual(t, open["bare"].share(), 80.0, open["bare"].bad)
	assert.GreaterOrEqual(t, open["harmless"].share(), 99.0, open["harmless"].bad)
	hidden := wildScores(t, true)
	assert.GreaterOrEqual(t, hidden["named"].share(), 80.0)
	assert.GreaterOrEqual(t, hidden["bare"].share(), 50.0)
	assert.GreaterOrEqual(t, hidden["harmless"].share(), 99.0)
}
