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
	maxBytes  = 1 << 20 // of all values; their forms take about ten times as much
	minValue  = 8
)

// SecretValues masks exact values, such as those a controller reads from
// Secrets. It keeps the 1024 values that were added last, in memory.
// [SecretValues.Redact] masks each of them in plain, base64 and URL-escaped
// form, and as strconv.Quote and json.Marshal write it. In the base64 of a
// longer text it masks the value except for the bytes at its edges. The zero
// value is ready to use, is safe for concurrent use, and must not be copied.
type SecretValues struct {
	mu    sync.RWMutex
	uses  map[string]uint64 // when each value was added last
	bytes int               // of them
	clock uint64
	forms index
}

// Add registers values and returns how many it accepted. It keeps no reference
// to them. White space around a value is not part of it. Add refuses values
// shorter than 8 bytes, since they would mask ordinary words, values longer
// than 1 MiB, and parts of [Mask]. It keeps at most 1024 values, and 1 MiB of
// them, and drops the least recently added ones first. A reconcile may add its
// values each time, because adding a known value costs little. A nil
// *SecretValues accepts nothing.
func (v *SecretValues) Add(values ...[]byte) int {
	if v == nil {
		return 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	taken := 0
	for _, b := range values {
		b = bytes.TrimSpace(b)
		if len(b) < minValue || len(b) > maxBytes || strings.Contains(Mask, string(b)) {
			continue
		}
		taken++
		v.clock++
		if _, known := v.uses[string(b)]; !known {
			v.makeRoom(len(b))
			for _, f := range formsOf(string(b)) {
				v.forms.add(f)
			}
		}
		v.uses[string(b)] = v.clock
	}
	return taken
}

func (v *SecretValues) makeRoom(n int) {
	if v.uses == nil {
		v.uses = make(map[string]uint64)
	}
	v.bytes += n
	for len(v.uses) >= maxValues || v.bytes > maxBytes {
		oldest, when := "", v.clock
		for value, used := range v.uses {
			if used < when {
				oldest, when = value, used
			}
		}
		delete(v.uses, oldest)
		v.bytes -= len(oldest)
		for _, f := range formsOf(oldest) {
			v.forms.remove(f)
		}
	}
}

// Redact masks the values that v keeps in s and then calls [Text]. It returns s
// itself when there is nothing to mask, and [Mask] alone if each mask joins the
// parts of another value. Use it as the Redact option of a Recorder. A nil
// *SecretValues only calls Text.
func (v *SecretValues) Redact(s string) string {
	if v == nil {
		return Text(s)
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	s, _ = v.forms.mask(s)
	s = Text(s)
	// A mask may have joined the parts of another value.
	for range 4 {
		masked, found := v.forms.mask(s)
		if !found {
			return s
		}
		s = masked
	}
	return Mask
}

// formsOf returns the forms of value in a text.
func formsOf(value string) []string {
	inJSON, _ := json.Marshal(value) // a string has no errors
	forms := []string{
		value,
		clean(value), // as a note shows it
		// Each part of a URL has different escapes.
		url.QueryEscape(value),
		url.PathEscape(value),
		url.User(value).String(),
		(&url.URL{Path: value}).EscapedPath(),
		(&url.URL{Fragment: value}).EscapedFragment(),
		string(inJSON[1 : len(inJSON)-1]),
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
	q := strconv.Quote(value)
	forms = append(forms, q[1:len(q)-1])
	forms = slices.DeleteFunc(forms, func(f string) bool { return len(f) < minValue || strings.Contains(Mask, f) })
	slices.Sort(forms)
	return slices.Compact(forms)
}
