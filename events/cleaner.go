// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"sync/atomic"
	"time"

	"github.com/proompteng/controllerkit/events/redact"
)

const (
	cleanTime    = time.Second // that a redactor may take for the texts of an Event
	maxRedactors = 2 * workers // calls of it at a time, with those that hang

	stuck = "[withheld: the redactor did not return within a second]"
)

// A cleaner calls the redactor, which is the caller's code and may hang.
type cleaner struct {
	redact  func(string) string // nil for redact.Text, which does not hang
	running atomic.Int32
}

// clean replaces each text by a note without credentials, also where the
// redactor panics. A redactor that hangs costs the texts, and no more: what it
// was called with is not used again, and its goroutine ends when it returns.
// Where too many hang, the redactor is not called. No lock is held.
func (c *cleaner) clean(texts []string) []string {
	if c.redact == nil {
		return notesOf(texts, redact.Text)
	}
	if c.running.Add(1) > maxRedactors {
		c.running.Add(-1)
		return withhold(texts)
	}
	cleaned := make(chan []string, 1)
	go func() {
		notes := notesOf(texts, c.redact)
		c.running.Add(-1)
		cleaned <- notes
	}()
	late := time.NewTimer(cleanTime)
	defer late.Stop()
	select {
	case notes := <-cleaned:
		return notes
	case <-late.C:
		return withhold(texts)
	}
}

func notesOf(texts []string, redactor func(string) string) []string {
	notes := make([]string, len(texts))
	for i, text := range texts {
		notes[i] = redact.Note(text, redactor)
	}
	return notes
}

func withhold(texts []string) []string {
	notes := make([]string, len(texts))
	for i := range notes {
		notes[i] = stuck
	}
	return notes
}

// cleanOne is clean for one text.
func (c *cleaner) cleanOne(text string) string { return c.clean([]string{text})[0] }
