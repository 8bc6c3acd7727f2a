// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

// Text returns s with every credential it finds replaced by [Mask], and s itself when it finds none. Text that was redacted
// is left as it is. It takes time linear in len(s), whatever s holds.
func Text(s string) string {
	c := scanner{s: s, colon: -1}
	c.scan()
	return c.result()
}

// A scanner goes over s once. It steps from word to word, and looks at the separators between them: what follows a key and a
// separator is a value. No step looks further than the value it then consumes, or else than a constant distance; that is
// what makes it linear.
type scanner struct {
	s      string
	out    []byte
	copied int // s[:copied] is in out, masked
	looked int // bytes that were looked at, for the test of linear time

	key     span // the last word
	stretch int  // the end of the text without blanks and quotes that was last measured
	end     int  // the end of the value that was last measured
	at      int  // the next '@', once looked for; len(s) when there is none
	colon   int  // the first ':' since the last blank; -1 when there is none
	block   block
}

type span struct{ from, to int }

// A block is the part of a Secret manifest that the scanner is in.
type block uint8

const (
	_          block = iota
	data             // base64 values are masked
	stringData       // all values are
)

func (c *scanner) mask(from, to int) {
	if from < c.copied || from >= to || c.s[from:to] == Mask {
		return
	}
	c.out = append(c.out, c.s[c.copied:from]...)
	c.out = append(c.out, Mask...)
	c.copied = to
}

func (c *scanner) result() string {
	if c.out == nil {
		return c.s
	}
	return string(append(c.out, c.s[c.copied:]...))
}

func (c *scanner) scan() {
	for i := 0; i < len(c.s); {
		i = c.step(i)
	}
}

// step deals with what stands at i and returns where to go on, which is after i.
func (c *scanner) step(i int) int {
	c.looked++
	switch b := c.s[i]; {
	case isWord(b):
		return c.word(i)
	case b == ' ' || b == '"' || b == '\'' || b == '`':
		c.colon = -1
	case b == ':' || b == '=':
		return c.separator(i)
	case b == '\\':
		return i + c.escape(i)
	case b == '%' && i+2 < len(c.s) && isHex(c.s[i+1]) && isHex(c.s[i+2]):
		return i + 3
	case b == '@':
		c.dataSource(i)
	case b == '>':
		return c.element(i)
	case b == '~':
		return c.azureSecret(i)
	case b == '}':
		c.block = 0
	}
	return i + 1
}

// word deals with the run of word bytes at i.
func (c *scanner) word(i int) int {
	j := c.wordEnd(i)
	c.key = span{i, j}
	if end := c.privateKey(i, j); end > 0 {
		return end
	}
	from := i
	for from < j && (c.s[from] == '-' || c.s[from] == '_') {
		from++
	}
	if from == j {
		return j
	}
	if end := c.token(from, j); end > 0 {
		c.mask(from, end)
		c.key = span{}
		return end
	}
	if j < len(c.s) && (c.s[j] == ' ' || from > i && c.quote(j) > 0) {
		return c.phrase(i, j)
	}
	return j
}

func (c *scanner) wordEnd(i int) int {
	j := i
	for j < len(c.s) && isWord(c.s[j]) {
		j++
	}
	c.looked += j - i
	return j
}

// stretchEnd is the end of the text from i on that holds no blank and no quote.
func (c *scanner) stretchEnd(i int) int {
	if i <= c.stretch {
		return c.stretch
	}
	j := i
	for j < len(c.s) && !isBlank(c.s[j]) && c.s[j] != '"' && c.s[j] != '\'' && c.s[j] != '`' {
		j++
	}
	c.looked += j - i
	c.stretch = j
	return j
}

// escape is the length of the escape sequence at i, where a backslash stands: no part of the word that follows.
func (c *scanner) escape(i int) int {
	if i+1 < len(c.s) && c.s[i+1] == 'u' {
		return min(6, len(c.s)-i)
	}
	return min(2, len(c.s)-i)
}

func (c *scanner) has(i int, prefix string) bool {
	return len(c.s)-i >= len(prefix) && c.s[i:i+len(prefix)] == prefix
}

func isWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-' || b == '_'
}

func isHex(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isBlank(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

// isToken is true of the bytes that tokens are made of: base64, of either alphabet, and dots.
func isToken(b byte) bool {
	return isWord(b) || b == '.' || b == '~' || b == '+' || b == '/' || b == '='
}
