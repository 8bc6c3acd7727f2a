// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
)

const (
	maxValues = 1024
	maxBytes  = 1 << 20 // of all values; their forms take about twenty times as much
	minValue  = 8
)

// SecretValues masks exact values, such as those a controller reads from
// Secrets. It keeps the 1024 values that were added last in memory, and those
// of each [Attempt] that is not done. [SecretValues.Redact] masks each of them
//
//   - in plain text, also in a block of YAML
//   - with the escapes of URLs, JSON, Go and HTML, also if the escaped text is
//     escaped again: JSON in JSON
//   - in base64 and hex, and as Go prints bytes: [99 111 110]
//
// In the base64 of a longer text it masks the value except for the bytes at its
// edges. The zero value is ready to use, is safe for concurrent use, and must
// not be copied.
type SecretValues struct {
	mu    sync.RWMutex
	known map[string]*secretValue
	count int // values that are not pinned
	bytes int // of them
	clock uint64
	forms index
}

// A secretValue holds the state of a value.
type secretValue struct {
	added uint64 // when, the last time
	pins  int
}

// Add registers values and returns how many it accepted. It keeps no reference
// to them. White space around a value is not part of it, and a run of it within
// a value counts as one byte. Add refuses values shorter than 8 bytes, since
// they would mask ordinary words, values longer than 1 MiB, and parts of
// [Mask]. It keeps at most 1024 values besides those of attempts, and 1 MiB of them,
// and drops the least recently added ones first. A reconcile may add its values
// each time, because adding a known value costs little. A nil *SecretValues
// accepts nothing.
func (v *SecretValues) Add(values ...[]byte) int {
	if v == nil {
		return 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	taken := 0
	for _, b := range values {
		value := accepted(b)
		if value == "" {
			continue
		}
		taken++
		v.pin(value)
		v.unpin(value)
	}
	return taken
}

// pinAll registers values like Add, and keeps them until unpinAll, also if
// other values are added. It returns the values that it accepted. They do not
// count toward the limits of Add.
func (v *SecretValues) pinAll(values [][]byte) []string {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var pinned []string
	for _, b := range values {
		value := accepted(b)
		if value != "" {
			v.pin(value)
			pinned = append(pinned, value)
		}
	}
	return pinned
}

// unpinAll undoes pinAll. The values then count as added last.
func (v *SecretValues) unpinAll(pinned []string) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, value := range pinned {
		v.unpin(value)
	}
}

// accepted returns b as a value to mask, or nothing if b is refused.
func accepted(b []byte) string {
	value := string(bytes.TrimSpace(b))
	folded := view{text: value}.folded().text
	switch {
	case len(folded) < minValue, len(value) > maxBytes, strings.Contains(Mask, folded):
		return ""
	}
	return value
}

// pin keeps the value, and adds its forms if it is new.
func (v *SecretValues) pin(value string) {
	known, found := v.known[value]
	switch {
	case !found:
		known = &secretValue{}
		v.learn(value, known)
	case known.pins == 0:
		v.count--
		v.bytes -= len(value)
	}
	known.pins++
}

func (v *SecretValues) learn(value string, known *secretValue) {
	if v.known == nil {
		v.known = make(map[string]*secretValue)
	}
	v.known[value] = known
	for _, f := range formsOf(value) {
		v.forms.add(f)
	}
}

// unpin undoes one pin. The last one makes the value the one added last.
func (v *SecretValues) unpin(value string) {
	known := v.known[value]
	known.pins--
	if known.pins > 0 {
		return
	}
	v.clock++
	known.added = v.clock
	v.count++
	v.bytes += len(value)
	for v.isFull() {
		v.forget(v.oldest())
	}
}

func (v *SecretValues) isFull() bool { return v.count > maxValues || v.bytes > maxBytes }

// oldest returns the least recently added value that is not pinned.
func (v *SecretValues) oldest() string {
	oldest := ""
	when := v.clock + 1
	for value, known := range v.known {
		if known.pins == 0 && known.added < when {
			oldest = value
			when = known.added
		}
	}
	return oldest
}

func (v *SecretValues) forget(value string) {
	delete(v.known, value)
	v.count--
	v.bytes -= len(value)
	for _, f := range formsOf(value) {
		v.forms.remove(f)
	}
}

// Redact masks the values that v keeps in s and applies the rules of [Text],
// until neither finds anything more. It returns s itself when there is nothing
// to mask, and [Mask] alone if each mask joins the parts of another value. Use
// it as the Redact option of a Recorder. A nil *SecretValues only calls Text.
func (v *SecretValues) Redact(s string) string {
	if v == nil {
		return Text(s)
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	return untilStable(s, func(s string) string { return compiled().mask(v.forms.mask(s)) })
}

// formsOf returns the forms of value in a text that is decoded and folded.
func formsOf(value string) []string {
	forms := []string{
		string([]rune(value)), // in JSON
		clean(value),          // in a note
	}
	plain := view{text: value}
	for range 3 { // a value may look like a part of a URL
		forms = append(forms, plain.text, strings.ReplaceAll(plain.text, " ", "+")) // as it is and in a query
		plain = plain.replaced(percent)
	}
	for i, text := range forms {
		forms[i] = view{text: text}.folded().text
	}
	for _, enc := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, enc.EncodeToString([]byte(value)), enc.EncodeToString([]byte(value+"\n")))
		// A longer text encodes the same bytes in one of three ways. Only the
		// bytes at the edges depend on their neighbors.
		for skip := range 3 {
			whole := (skip + len(value)) / 3 * 4
			edge := [3]int{0, 2, 3}[skip]
			forms = append(forms, enc.EncodeToString([]byte("xx"[:skip] + value))[edge:whole])
		}
	}
	forms = append(
		forms,
		hex.EncodeToString([]byte(value)),
		strings.Trim(fmt.Sprintf("%d", []byte(value)), "[]"),
		strings.Trim(fmt.Sprintf("%#v", []byte(value)), "[]byte{}"),
	)
	forms = slices.DeleteFunc(forms, func(f string) bool {
		return len(f) < minValue || strings.Contains(Mask, f)
	})
	slices.Sort(forms)
	return slices.Compact(forms)
}
