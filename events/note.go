// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/events/redact"
)

// text formats the note. It must run without mu: arguments have methods of their own.
func (o *occurrence) text() string {
	switch {
	case o.verbatim:
		return o.note
	case absent(o.err) && o.err != nil:
		return fmt.Sprint(o.err) // survives a method that does not expect a nil receiver
	case o.err != nil:
		return o.err.Error()
	case len(o.args) == 0:
		return strings.ReplaceAll(o.note, "%%", "%")
	}
	return fmt.Sprintf(o.note, o.args...)
}

// hash tells notes apart; never 0.
func (r *Recorder) hash(note string) uint64 {
	return max(maphash.String(r.seed, note), 1)
}

// draft gives s the note of o, which occurred at now, unless it is the one already told. mu must be held, and is released.
func (r *Recorder) draft(e *entry, s *series, o *occurrence, now time.Duration) {
	told := s.hash
	r.unlock()

	var d *draft
	var hash uint64
	formatted := false
	defer func() {
		r.mu.Lock()
		defer r.unlock()
		s.drafting = false
		e.drafting--
		r.drafting--
		switch {
		case !formatted:
			// A panic of a redactor or of an argument goes on to the caller; the next occurrence tries again.
			if s.event == 0 && s.draft == nil && !s.busy {
				r.lose(rejected, s.pending, "formatting or redacting the note panicked")
				s.pending = 0
			}
		case d != nil:
			s.draft, s.hash = d, hash
		default:
			// Unchanged: the count is written now, not after the slack.
			s.due = min(s.due, now-r.slack)
		}
		r.settle(e, now)
		r.notify()
		r.signal()
	}()

	note := o.text()
	if hash = r.hash(note); hash != told {
		d = &draft{
			note:        redact.Note(note, r.o.Redact),
			annotations: r.annotations(o.annotations),
			related:     r.related(o),
			fieldPath:   fieldPath(o),
		}
	}
	formatted = true
}

func (r *Recorder) annotations(in map[string]string) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[k] = redact.Note(v, r.o.Redact)
	}
	return out
}

// related is the reference of the related object; nil when there is none to make, which is no reason to lose the Event.
func (r *Recorder) related(o *occurrence) *corev1.ObjectReference {
	if absent(o.related) {
		return nil
	}
	ref, err := refer(o.related, r.o.Scheme)
	if err != nil {
		return nil
	}
	out := ref.object()
	out.Name = redact.Note(out.Name, r.o.Redact)
	return &out
}

func fieldPath(o *occurrence) string {
	if ref, ok := o.regarding.(*corev1.ObjectReference); ok {
		return ref.FieldPath
	}
	return ""
}
