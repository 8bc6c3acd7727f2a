// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	maxValues = 1024
	minValue  = 8
)

// SecretValues masks exact values: what a controller itself read from Secrets. No output of [SecretValues.Redact] holds a
// registered value, in plain, base64 or URL-escaped form, or quoted as Go or its JSON quotes it; in base64 also when it is part
// of a longer text, but for the bytes at its edges. The zero value is ready to use, is safe for concurrent use, and must not be
// copied. It keeps the values in memory.
type SecretValues struct {
	mu    sync.RWMutex
	uses  map[string]uint64 // when each value was added last
	clock uint64
	forms index
}

// Add registers values; it keeps no reference to them. White space around a value is not part of it. Values shorter than 8
// bytes are refused, since they would mask ordinary words, and so are parts of [Mask]; Add returns how many it took. At most
// 1024 are kept, the least recently added leave first. Adding a value again costs little, so a reconcile may add what it
// reads each time. A nil *SecretValues takes nothing.
func (v *SecretValues) Add(values ...[]byte) int {
	if v == nil {
		return 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	taken := 0
	for _, b := range values {
		b = bytes.TrimSpace(b)
		if len(b) < minValue || strings.Contains(Mask, string(b)) {
			continue
		}
		taken++
		v.clock++
		if _, known := v.uses[string(b)]; !known {
			v.makeRoom()
			for _, f := range formsOf(string(b)) {
				v.forms.add(f)
			}
		}
		v.uses[string(b)] = v.clock
	}
	return taken
}

func (v *SecretValues) makeRoom() {
	if v.uses == nil {
		v.uses = make(map[string]uint64)
	}
	if len(v.uses) < maxValues {
		return
	}
	oldest, when := "", v.clock
	for value, used := range v.uses {
		if used < when {
			oldest, when = value, used
		}
	}
	delete(v.uses, oldest)
	for _, f := range formsOf(oldest) {
		v.forms.remove(f)
	}
}

// Redact masks the registered values in s, and then what [Text] finds; it returns s itself when there is nothing to mask. It
// fits the Redact option of a Recorder. On a nil *SecretValues it is Text.
func (v *SecretValues) Redact(s string) string {
	if v == nil {
		return Text(s)
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	s, _ = v.forms.mask(s)
	s = Text(s)
	// What was masked may have brought the parts of another value together.
	for range 4 {
		masked, found := v.forms.mask(s)
		if !found {
			return s
		}
		s = masked
	}
	return Mask
}

// formsOf are the ways in which value may appear in a text.
func formsOf(value string) []string {
	inJSON, _ := json.Marshal(value) // a string has no errors
	forms := []string{
		value,
		clean(value), // as a note shows it
		// Each part of a URL has escapes of its own.
		url.QueryEscape(value),
		url.PathEscape(value),
		url.User(value).String(),
		(&url.URL{Path: value}).EscapedPath(),
		(&url.URL{Fragment: value}).EscapedFragment(),
		string(inJSON[1 : len(inJSON)-1]),
	}
	for _, enc := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, enc.EncodeToString([]byte(value)), enc.EncodeToString([]byte(value+"\n")))
		// Within a longer text the same bytes are encoded in one of three ways, but for the edges.
		for skip := range 3 {
			whole := (skip + len(value)) / 3 * 4
			edge := [3]int{0, 2, 3}[skip]
			forms = append(forms, enc.EncodeToString([]byte("xx"[:skip] + value))[edge:whole])
		}
	}
	q := strconv.Quote(value)
	forms = append(forms, q[1:len(q)-1])
	forms = slices.DeleteFunc(forms, func(f string) bool { return len(f) < minValue || strings.Contains(Mask, f) })
	slices.Sort(forms)
	return slices.Compact(forms)
}
