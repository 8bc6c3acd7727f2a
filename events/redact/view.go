// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// A view is a text after some of its bytes were decoded.
type view struct {
	text string
	// at has the place in the source of each byte of the text, and of its end.
	// It is nil if the text is the source.
	at []int
}

// source returns the part of the source that a part of the view comes from.
func (v view) source(part span) span {
	if v.at == nil {
		return part
	}
	return span{v.at[part.from], v.at[part.to]}
}

// sources returns the parts of the source.
func (v view) sources(parts []span) []span {
	var all []span
	for _, part := range parts {
		all = append(all, v.source(part))
	}
	return all
}

// decoded returns the view with its escapes of URLs, HTML, and strings in JSON
// and Go decoded once.
func (v view) decoded() view {
	if !strings.ContainsAny(v.text, `%\&`) {
		return v
	}
	return v.replaced(escape)
}

// levels returns s, and s with its escapes decoded once and twice.
func levels(s string) []view {
	v := view{text: s}
	all := []view{v}
	for range 2 {
		next := v.decoded()
		if next.text == v.text {
			break
		}
		v = next
		all = append(all, v)
	}
	return all
}

// joined returns the view with the flags of a list of arguments joined to their
// neighbors by blanks, as in a command. A value that has a blank keeps its
// quotes.
func (v view) joined() view {
	if !strings.Contains(v.text, `"-`) && !strings.Contains(v.text, "'-") {
		return v
	}
	isFlag := false // the element that the text is in
	isQuoted := false
	return v.replaced(func(rest string) (string, int) {
		if rest[0] != '"' && rest[0] != '\'' {
			return "", 0
		}
		length := separator(rest)
		element, _, _ := strings.Cut(rest[length:], rest[:1])
		wasFlag := isFlag
		wasQuoted := isQuoted
		isFlag = strings.HasPrefix(element, "-")
		isQuoted = wasFlag && !isFlag && strings.Contains(element, " ")
		switch {
		case length == 1 || !wasFlag && !isFlag:
			return "", 0
		case isQuoted:
			return " " + rest[:1], length
		case wasQuoted:
			return rest[:1] + " ", length
		}
		return " ", length
	})
}

// separator returns the length between two elements of a list, from the quote
// after the first to the quote before the second. It returns 1 if rest begins
// with another quote, or the second element is the key of a pair.
func separator(rest string) int {
	next := strings.TrimLeft(rest[1:], " ,")
	if len(next) == len(rest)-1 || next == "" || next[0] != rest[0] {
		return 1
	}
	end := strings.IndexByte(next[1:], rest[0])
	if end >= 0 && strings.HasPrefix(next[end+2:], ":") {
		return 1
	}
	return len(rest) - len(next) + 1
}

// folded returns the view with a blank for each run of white space. So the
// lines of a text are the same at each indentation.
func (v view) folded() view {
	if !strings.ContainsAny(v.text, "\n\r\t\v\f") && !strings.Contains(v.text, "  ") {
		return v
	}
	return v.replaced(whiteSpace)
}

// replaced returns the view in which replace wrote some parts in another way.
// replace gets the rest of the text. It returns what to write for its first
// bytes, and their number, or 0 if the first byte stays.
func (v view) replaced(replace func(rest string) (string, int)) view {
	out := make([]byte, 0, len(v.text))
	at := make([]int, 0, len(v.text)+1)
	for i := 0; i < len(v.text); {
		written, length := replace(v.text[i:])
		if length == 0 {
			written = v.text[i : i+1]
			length = 1
		}
		for range len(written) {
			at = append(at, v.source(span{i, i}).from)
		}
		out = append(out, written...)
		i += length
	}
	at = append(at, v.source(span{len(v.text), len(v.text)}).from)
	return view{string(out), at}
}

// escape returns the meaning and the length of the escape that rest begins
// with, or 0.
func escape(rest string) (meaning string, length int) {
	switch rest[0] {
	case '%':
		return percent(rest)
	case '\\':
		return backslash(rest)
	case '&':
		return entity(rest)
	}
	return "", 0
}

// percent decodes an escape of a URL.
func percent(rest string) (meaning string, length int) {
	const size = 3
	if rest[0] != '%' || len(rest) < size {
		return "", 0
	}
	b, err := hex.DecodeString(rest[1:size])
	if err != nil {
		return "", 0
	}
	return string(b), size
}

// backslash decodes an escape of JSON or Go.
func backslash(rest string) (meaning string, length int) {
	if len(rest) > 1 && strings.IndexByte("/\"'`", rest[1]) >= 0 {
		return rest[1:2], 2
	}
	r, isRune, tail, err := strconv.UnquoteChar(rest, 0)
	switch {
	case err != nil:
		return "", 0
	case isRune:
		meaning = string(r)
	default:
		meaning = string([]byte{byte(r)})
	}
	return meaning, len(rest) - len(tail)
}

// entity decodes an escape of HTML or XML.
func entity(rest string) (meaning string, length int) {
	for escaped, meaning := range entities {
		if strings.HasPrefix(rest, escaped) {
			return meaning, len(escaped)
		}
	}
	return "", 0
}

var entities = map[string]string{ //nolint:gochecknoglobals // a constant
	"&quot;": `"`, "&#34;": `"`, "&apos;": "'", "&#39;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&",
}

// whiteSpace returns a blank for the white space that rest begins with.
func whiteSpace(rest string) (blank string, length int) {
	return " ", len(rest) - len(strings.TrimLeft(rest, " \n\r\t\v\f"))
}
