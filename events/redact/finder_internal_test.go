// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestFinder_TakesLinearTime: the test counts the bytes that the expressions
// are shown, because the time depends on the machine.
func TestFinder_TakesLinearTime(t *testing.T) {
	shown := func(s string) int {
		f := finder{table: compiled(), s: s}
		f.all()
		return f.shown
	}
	const size = 512
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }
	for _, part := range []string{
		"a", "-", " ", "@", "token", "token:", "token: ", "token=", "password=a-b,", "secret=a-b/",
		"secret=a-", "password: |\n  a\n", "a://b:c/", "a://b@", "a://b:c@", "https://u:p", "@tcp(",
		"a:b@tcp(", "bearer a", "basic YTpi", "-u a:", "-u ", "--password ", `"data":{`, `"data":{"a":"`,
		"kind: Secret data: ", `"stringData":{"a":'`, `"password":"\"`, "cookie: a=b; ", "<password>",
		"-----BEGIN PRIVATE", "-----BEGIN PRIVATE KEY", "eyJ/", "eyJhbGciOi.", "s.a", "aB3", "aB3_", "aB3.",
		"ghp_", "AKIA", "aaa1Q~", "password=[redacted]", "token: Invalid value: ", "name:token,value:",
		"pass=1 ", "IDENTIFIED BY a", "create user ", "redis-cli ", "mysql -p ",
		"hooks.slack.com/services/", "?key=", "$2b$", "define('A_KEY', '", `"kty"`, "host id ", "MIIabcCC",
		"auth: ", "machine a login b password ", ":5432:a:b:", `"path":"/a/token","value":"`, `value="a" key="`,
		"env[0].value: Invalid value: \"", `...|sword":"`, "secret_id ", "echo a:b | ", "chpasswd: {list: a:b ",
		"mc alias set a b c ", "sqlplus a/b", "auth('a','", "vault login ", `port ":`, "pwd={a",
	} {
		for _, before := range []string{"", "password="} {
			short := shown(before + fill(part, size))
			long := shown(before + fill(part, 4*size))
			assert.LessOrEqual(t, long, 5*short+20*size, "%q after %q", part, before)
		}
	}
}

// TestTable_TriesNoRuleWithoutItsKeyword: clean text costs only the search for
// keywords.
func TestTable_TriesNoRuleWithoutItsKeyword(t *testing.T) {
	text := strings.Repeat("reconcile of runs/run-1 failed: context deadline exceeded, ", 20)
	f := finder{table: compiled(), s: text}
	f.all()
	assert.Zero(t, f.shown)
}

func TestText_LooksAtEachPlace(t *testing.T) {
	m := NewMaker(1)
	token := m.Fill("ghp_{a:36}")
	cases := map[string]struct{ reason, in, want string }{
		"TwoURLs": {
			"One run of text may have several.",
			"a://u:pass-1x@h,b://u:pass-2x@h", "a://u:[redacted]@h,b://u:[redacted]@h",
		},
		"Escape": {
			"The letter of an escape sequence is not part of a word.",
			`line\n` + token + " was refused", `line\n[redacted] was refused`,
		},
		"Unicode":   {"Nor are its digits.", `a\u0026` + token, `a\u0026[redacted]`},
		"Percent":   {"A URL has escapes too.", "q%3D" + token, "q%3D[redacted]"},
		"NoPercent": {"A percent sign without two hex digits is no escape.", "100%" + token, "100%[redacted]"},
		"TheEnd":    {"An escape may be cut.", `a\`, `a\`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, Text(tc.in), tc.reason) })
	}
}

func TestMerge_JoinsOverlaps(t *testing.T) {
	cases := map[string]struct {
		reason    string
		all, want []span
	}{
		"None":     {"Without a span there is nothing to merge.", nil, nil},
		"Apart":    {"Spans that touch stay two.", []span{{3, 5}, {0, 3}}, []span{{0, 3}, {3, 5}}},
		"Overlap":  {"A byte is enough.", []span{{0, 4}, {3, 5}}, []span{{0, 5}}},
		"Within":   {"The longer one has both.", []span{{0, 9}, {3, 5}}, []span{{0, 9}}},
		"Together": {"Two rules found the same.", []span{{1, 2}, {1, 2}}, []span{{1, 2}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, merge(tc.all), tc.reason) })
	}
}

func TestWithout_KeepsWhatIsApart(t *testing.T) {
	others := []span{{2, 4}, {8, 9}}
	for _, s := range []span{{0, 2}, {4, 8}, {9, 11}} {
		assert.Equal(t, []span{s}, without([]span{s}, others))
	}
	for _, s := range []span{{0, 3}, {3, 4}, {1, 5}, {3, 20}, {8, 9}, {7, 9}} {
		assert.Empty(t, without([]span{s}, others), s)
	}
}
