// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"hash/maphash"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events/redact"
)

const (
	maxText   = 8 << 10  // of a note before it is redacted; redact.Note looks at half of it
	maxBuffer = 64 << 10 // of a buffer that is kept
)

// buffer returns an empty buffer. It goes back to r.buffers.
func (r *Recorder) buffer() *[]byte {
	b, ok := r.buffers.Get().(*[]byte)
	if !ok || cap(*b) > maxBuffer {
		b = new([]byte)
	}
	*b = (*b)[:0]
	return b
}

// errorText is the text of err.
func errorText(err error) string {
	if absent(err) {
		return fmt.Sprint(err) // survives a method that does not expect a nil receiver
	}
	text := err.Error()
	if len(text) > maxText {
		return strings.Clone(text[:maxText]) // does not hold the rest in memory
	}
	return text
}

// hash tells the notes of a series apart, generated words left out. It is never
// 0, and it cuts a note that is longer than will ever be read.
func (r *Recorder) hash(o *occurrence) uint64 {
	if o.text == nil {
		o.whole = o.whole[:min(len(o.whole), maxText)]
		return max(sum(r.seed, o.whole), 1)
	}
	*o.text = (*o.text)[:min(len(*o.text), maxText)]
	return max(sum(r.seed, *o.text), 1)
}

// aboutKey tells related objects and field paths apart; 0 where there is
// neither.
func (r *Recorder) aboutKey(o *occurrence) uint64 {
	path := fieldPath(o.regarding)
	if o.related == nil && path == "" {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(r.seed)
	_, _ = h.WriteString(path)
	if k, err := identify(o.related, r.o.Scheme); err == nil {
		for _, s := range [...]string{k.kind, k.namespace, k.id} {
			_ = h.WriteByte(0)
			_, _ = h.WriteString(s)
		}
	} else if path == "" {
		return 0 // the Event is written without it
	}
	return max(h.Sum64(), 1)
}

// aboutOf is what a series stores of that. The scheme is only asked when the
// related object carries no kind.
func (r *Recorder) aboutOf(o *occurrence) *about {
	if o.id.about == 0 {
		return nil
	}
	a := &about{fieldPath: fieldPath(o.regarding)}
	if ref, err := refer(o.related, r.o.Scheme); err == nil {
		out := ref.object()
		a.related = &out
	}
	return a
}

func fieldPath(obj runtime.Object) string {
	if ref, ok := obj.(*corev1.ObjectReference); ok && ref != nil {
		return ref.FieldPath
	}
	return ""
}

func cloned(annotations map[string]string) map[string]string {
	if len(annotations) == 0 {
		return nil
	}
	return maps.Clone(annotations)
}

// clean makes text a note that the API server takes, without credentials. The
// redactor is the caller's code: if it panics, the write has no note.
func (r *Recorder) clean(text string) (note string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("redacting the note panicked: %v", p)
		}
	}()
	return redact.Note(text, r.o.Redact), nil
}

// sum is a hash of text without the words that look generated.
//
// A word is a run of letters and digits. It looks generated if it is
//   - part of a UUID;
//   - at least 8 bytes long and has a digit before a letter, twice, as hashes
//     and random names do, or has only digits, as a timestamp does;
//   - the last part of a name made with generateName: five of the characters
//     that Kubernetes uses for it, after a hyphen.
func sum[T string | []byte](seed maphash.Seed, text T) uint64 {
	from, end := generated(text, 0)
	if from < 0 {
		if b, ok := any(text).([]byte); ok {
			return maphash.Bytes(seed, b)
		}
		return maphash.String(seed, string(text))
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for at := 0; at < len(text); at++ {
		if at == from {
			_ = h.WriteByte(0)
			at = end - 1
			from, end = generated(text, end)
			continue
		}
		_ = h.WriteByte(text[at])
	}
	return h.Sum64()
}

// generated finds the first generated word of text from i on, where no word is
// cut; from is negative when there is none.
func generated[T string | []byte](text T, i int) (from, end int) {
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
			n == 5 && i > 0 && text[i-1] == '-' && isSuffix(text, i) && (end == len(text) || text[end] != '-'):
			return i, end
		}
		i = end
	}
	return -1, -1
}

func isWord(c byte) bool  { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isSuffix reports whether the five bytes of text at i are of the alphabet of
// k8s.io/apimachinery/pkg/util/rand.
func isSuffix[T string | []byte](text T, i int) bool {
	for n := range 5 {
		if strings.IndexByte("bcdfghjklmnpqrstvwxz2456789", text[i+n]) < 0 {
			return false
		}
	}
	return true
}

func isUUID[T string | []byte](text T, i int) bool {
	if len(text) < i+36 || len(text) > i+36 && isWord(text[i+36]) {
		return false
	}
	for n := range 36 {
		c := text[i+n]
		if dash := n == 8 || n == 13 || n == 18 || n == 23; dash != (c == '-') || !dash && !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}
