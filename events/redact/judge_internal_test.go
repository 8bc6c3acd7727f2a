// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The rows are next to the edge of each rule, on either side.
func TestTheEdgesOfWhatIsJudged(t *testing.T) {
	digits := func(n int) string { return base64.StdEncoding.EncodeToString([]byte("a:" + strings.Repeat("1", n))) }
	cases := map[string]struct {
		reason string
		judge  func(string) bool
		yes    []string
		no     []string
	}{
		"Name": {
			"A DNS subdomain has at most 253 characters.", isName,
			[]string{"a", "z", "a-z", "a/b", "a.b", "0", "abc1234", "a-1234567", strings.Repeat("a", 253)},
			[]string{"-a", "a-", ".a", "/a", "aB", "a_b", "a{b", "abc12345", strings.Repeat("a", 254)},
		},
		"Letter": {
			"Only ASCII letters.", func(s string) bool { return all(s, isLetter) },
			[]string{"azAZ"},
			[]string{"@", "[", "`", "{", "1"},
		},
		"Hex":   {"Both cases.", func(s string) bool { return all(s, isHex) }, []string{"09afAF"}, []string{"g", "G", "/", ":", "@", "`"}},
		"Word":  {"Letters, digits, hyphens and underscores.", func(s string) bool { return all(s, isWord) }, []string{"azAZ09-_"}, []string{"@", "[", "`", "{", "/", ":", "."}},
		"Token": {"Both alphabets of base64, and dots.", func(s string) bool { return all(s, isToken) }, []string{"azAZ09-_.~+/="}, []string{":", " ", "%"}},
		"Blank": {"The white space of C.", func(s string) bool { return all(s, isBlank) }, []string{" \t\n\v\f\r"}, []string{"\x08", "\x0e", "a"}},
		"Upper": {"The alphabet of AWS key ids.", func(s string) bool { return all(s, isUpperAlnum) }, []string{"AZ09"}, []string{"a", "@", "["}},
		"Mixed": {"A digit, an upper and a lower case letter.", mixed, []string{"aA0", "zZ9"}, []string{"aA", "a0", "A0", "[{:", "a0@", "A0`", "aA/"}},
		"Link": {
			"A few digits may end its word.", isLink,
			[]string{"oauth2:", "x509:", "dial:", "a123456:"},
			[]string{"a1234567:", "oauth2", "a-b:"},
		},
		"Base64": {
			"Six characters, padding aside.", isBase64,
			[]string{"abcdef", "abcd+/", "abcdef=="},
			[]string{"abcde", "abcde=", "abcde-", "abcd_f"},
		},
		"URL": {
			"A scheme comes first.", isURL,
			[]string{"https://x", "git+ssh://x", "a1-b://"},
			[]string{"https:/x", "a.b://x", strings.Repeat("a", 22) + "://"},
		},
		"UserPassword": {
			"The Basic scheme encodes printable text with a colon.", isUserPassword,
			[]string{"YTpi", "YTp+", "IDog", digits(764)},
			[]string{"Og", "YWJj", "YTp/", "YR86", digits(768), "a:b!"},
		},
		"Nothing": {
			"A word of a message in any case.", saysNothing,
			[]string{"unauthorized", "UNAUTHORIZED", "Not"},
			[]string{"", "unauthorised", strings.Repeat("a", 25)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, s := range tc.yes {
				assert.True(t, tc.judge(s), "%q: %s", s, tc.reason)
			}
			for _, s := range tc.no {
				assert.False(t, tc.judge(s), "%q: %s", s, tc.reason)
			}
		})
	}
}

// Two values may share a form. Removed forms must not stay in the filter.
func TestAFormStaysAsLongAsAValueHasIt(t *testing.T) {
	var x index
	x.add("abcdefgh-1")
	x.add("abcdefgh-1")
	x.add("abcdefgh-2")
	x.remove("abcdefgh-3") // not there
	x.remove("other-head")
	x.remove("abcdefgh-1")
	masked, _ := x.mask("abcdefgh-1abcdefgh-2abcdefgh-3")
	assert.Equal(t, Mask+Mask+"abcdefgh-3", masked)
	x.remove("abcdefgh-1")
	masked, _ = x.mask("abcdefgh-1abcdefgh-2")
	assert.Equal(t, "abcdefgh-1"+Mask, masked)
	x.remove("abcdefgh-2")
	assert.Empty(t, x.heads)
	assert.Equal(t, index{}.filter, x.filter)
	_, found := x.mask("abcdefgh-2")
	assert.False(t, found)
}
