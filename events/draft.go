// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

// A draft is a new Event before it is stored.
type draft struct {
	text        string // clean
	annotations map[string]string
	hash        uint64
	same        int64 // occurrences with this note
	isNew       bool  // it becomes an Event also if the stored one has the same note
	number      int64 // in its name; 0 before the first attempt
	carried     int64 // the occurrences that an unsure attempt reported
	isUnsure    bool  // an attempt may have been stored
	isRenamed   bool  // its name was taken
}

// newDraft returns the draft of an occurrence that was added to w.
func (w *waiting) newDraft(o *occurrence, isNew bool) *draft {
	return &draft{
		text:        w.text,
		annotations: o.annotations,
		hash:        o.hash,
		same:        1,
		isNew:       isNew,
	}
}

// rename is called when the name of a new Event is taken.
func (d *draft) rename() reply {
	switch {
	case d.isUnsure:
		return written // by an attempt that seemed to fail
	case d.isRenamed:
		return rejected // the server takes no name at all
	}
	d.number = 0
	d.isRenamed = true
	return nameTaken
}

// note makes the note of an occurrence the one to write. It does not change the
// draft of the request under way.
func (s *series) note(o *occurrence) {
	w := &s.waiting
	sent := s.trouble.sent
	unsent := w.draft
	if unsent == sent {
		unsent = nil
	}
	isNew := w.isFresh || unsent != nil && unsent.isNew
	w.isFresh = false
	switch {
	case unsent != nil && unsent.hash == o.hash:
		unsent.same++
		unsent.isNew = isNew
	case isNew:
		s.replace(w.newDraft(o, true))
	case sent != nil && sent.hash == o.hash:
		s.replace(sent)
	case sent == nil && s.stored.number != 0 && s.stored.hash == o.hash:
		s.replace(nil)
	default:
		s.replace(w.newDraft(o, false))
	}
}

// replace makes d the draft. The note of the one before is not written.
func (s *series) replace(d *draft) {
	last := s.waiting.draft
	if last != nil && last != s.trouble.sent && last != d {
		s.waiting.unread += last.same
	}
	s.waiting.draft = d
}
