// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// The few shapes of YAML that this package writes. Mappings keep their order,
// so that equal bundles are equal bytes.
type (
	mapping []field
	field   struct {
		key   string
		value any // string, text, int, bool, mapping or list
	}
	list []any
	// text is written literally, line by line.
	text string
)

// document writes one YAML document that is at the same time safe text of a Go
// template: nothing in it opens an action.
func document(m mapping) []byte {
	var b bytes.Buffer
	writeMapping(&b, m, 0)
	return b.Bytes()
}

func writeMapping(b *bytes.Buffer, m mapping, depth int) {
	for i, f := range m {
		if i > 0 {
			indent(b, depth)
		}
		b.WriteString(scalar(f.key) + ":")
		writeValue(b, f.value, depth)
	}
}

// writeValue ends the line that its key or its dash began.
func writeValue(b *bytes.Buffer, value any, depth int) {
	switch v := value.(type) {
	case mapping:
		if len(v) == 0 {
			b.WriteString(" {}\n")
			return
		}
		b.WriteByte('\n')
		indent(b, depth+1)
		writeMapping(b, v, depth+1)
	case list:
		b.WriteByte('\n')
		for _, item := range v {
			indent(b, depth+1)
			b.WriteByte('-')
			if m, ok := item.(mapping); ok {
				b.WriteByte(' ')
				writeMapping(b, m, depth+2)
				continue
			}
			writeValue(b, item, depth+2)
		}
	case text:
		writeText(b, v, depth+1)
	case string:
		b.WriteString(" " + scalar(v) + "\n")
	case int:
		b.WriteString(" " + strconv.Itoa(v) + "\n")
	case bool:
		b.WriteString(" " + strconv.FormatBool(v) + "\n")
	}
}

// writeText keeps queries and JSON readable. It escapes nothing: the text
// contains no "{{" and does not begin with a space.
func writeText(b *bytes.Buffer, t text, depth int) {
	b.WriteString(" |-\n")
	for line := range strings.Lines(strings.TrimSuffix(string(t), "\n")) {
		indent(b, depth)
		b.WriteString(line)
	}
	b.WriteByte('\n')
}

// A list's dash replaces two spaces of its item's indentation, so that one step
// is two spaces everywhere.
func indent(b *bytes.Buffer, depth int) { b.WriteString(strings.Repeat("  ", depth)) }

// scalar writes a string plain where every reader of YAML takes it for one, and
// quoted as JSON elsewhere.
func scalar(s string) string {
	if plain(s) {
		return s
	}
	return string(templateSafe(quoted(s)))
}

// plain reports whether s is a string without quotes too: a word that begins
// with a letter and is not a reserved word of YAML.
func plain(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if s == "" || strings.IndexByte(letters+"/", s[0]) < 0 || strings.Trim(s, letters+"0123456789_./-") != "" {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null":
		return false
	}
	return true
}

func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be encoded
	return bytes.TrimSpace(b.Bytes())
}

// templateSafe escapes the opening of an action of a Go template, and so of
// Helm. It uses escapes of JSON, which YAML's double quotes accept too. A
// reader of the JSON or YAML gets the same text, and the template engine finds
// no action. Two braces in a row occur in strings only.
func templateSafe(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("{{"), []byte(`\u007b\u007b`))
}
