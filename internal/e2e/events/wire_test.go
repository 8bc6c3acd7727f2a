// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"strings"
	"sync"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// wire records the requests of a client.
type wire struct{ suite.Wire }

// codes returns the answers of one group, in order. The recorder repeats a
// request that was not answered in time.
func (w *wire) codes(group string) (codes []int) {
	for _, r := range w.Sent() {
		if groupOf(r) == group && r.Code != 0 {
			codes = append(codes, r.Code)
		}
	}
	return codes
}

// groupOf is "events.k8s.io" or "", the core group.
func groupOf(r suite.Request) string {
	if strings.HasPrefix(r.Path, "/apis/events.k8s.io/") {
		return "events.k8s.io"
	}
	return ""
}

// book is a log with concurrent readers and writers.
type book struct {
	mu    sync.Mutex
	lines []string
}

func (b *book) write(prefix, args string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, prefix+args)
}

// about returns the lines with a word.
func (b *book) about(word string) (lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lines {
		if strings.Contains(l, word) {
			lines = append(lines, l)
		}
	}
	return lines
}
