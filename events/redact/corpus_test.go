// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events/redact"
)

// lines returns the lines of a file in testdata, without comments.
func lines(tb testing.TB, name string) []string {
	tb.Helper()
	isComment := func(line string) bool { return strings.HasPrefix(line, "#") }
	return slices.DeleteFunc(allLines(tb, name), isComment)
}

func allLines(tb testing.TB, name string) []string {
	tb.Helper()
	f, err := os.Open("testdata/" + name)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, f.Close()) }()
	var out []string
	for in := bufio.NewScanner(f); in.Scan(); {
		out = append(out, in.Text())
	}
	return out
}

// leak is a line of leaks.txt with its secrets made up.
type leak struct {
	kind, text, want string
	secrets          []string
}

func leaks(tb testing.TB, seed uint64) []leak {
	tb.Helper()
	return marks(tb, "leaks.txt", seed)
}

func marks(tb testing.TB, name string, seed uint64) []leak {
	tb.Helper()
	m := redact.NewMaker(seed)
	var out []leak
	for _, line := range lines(tb, name) {
		kind, text, ok := strings.Cut(line, "|")
		require.True(tb, ok, line)
		text = m.Fill(text)
		l := leak{kind: kind}
		for _, s := range redact.Marked.FindAllStringSubmatch(text, -1) {
			l.secrets = append(l.secrets, s[1])
		}
		l.text = redact.Marked.ReplaceAllString(text, "$1")
		l.want = redact.Marked.ReplaceAllString(text, redact.Mask)
		out = append(out, l)
	}
	return out
}

// reasons returns the reason of each kind of leak.
func reasons(tb testing.TB) map[string]string {
	tb.Helper()
	out := map[string]string{}
	for _, line := range lines(tb, "kinds.txt") {
		kind, reason, _ := strings.Cut(line, "|")
		require.NotEmpty(tb, reason, kind)
		require.NotContains(tb, out, kind)
		out[kind] = reason
	}
	return out
}

//req:shows E5
func TestEveryLeakIsMasked(t *testing.T) {
	reason := reasons(t)
	kinds := map[string]bool{}
	for seed := range uint64(5) {
		for _, l := range leaks(t, seed) {
			kinds[l.kind] = true
			require.Contains(t, reason, l.kind, "kinds.txt has the reason")
			got := redact.Text(l.text)
			for _, secret := range l.secrets {
				assert.NotContains(t, got, secret, "%s: %s", reason[l.kind], l.text)
				// A half of it must not remain either.
				if n := len(secret); n >= 12 {
					assert.NotContains(t, got, secret[n/2:], "%s: %s", reason[l.kind], l.text)
					assert.NotContains(t, got, secret[:n/2], "%s: %s", reason[l.kind], l.text)
				}
			}
			assert.Contains(t, got, redact.Mask, l.text)
			assert.Equal(t, got, redact.Text(got), "redacting twice changes nothing")
		}
	}
	assert.GreaterOrEqual(t, len(lines(t, "leaks.txt")), 400)
	assert.GreaterOrEqual(t, len(kinds), 40)
	assert.Len(t, kinds, len(reason), "each kind of kinds.txt has a leak")
}

// Text masks the whole credential and nothing else. It keeps text that only
// looks like a credential.
func TestExactlyTheCredentialIsMasked(t *testing.T) {
	for seed := range uint64(3) {
		for _, l := range append(marks(t, "edges.txt", seed), leaks(t, seed)...) {
			assert.Equal(t, l.want, redact.Text(l.text), l.kind)
		}
	}
}

//req:shows E5
func TestNoBenignMessageIsAltered(t *testing.T) {
	reason := ""
	messages := 0
	for _, m := range allLines(t, "benign.txt") {
		if strings.HasPrefix(m, "#") {
			reason = strings.TrimPrefix(m, "# ")
			continue
		}
		messages++
		require.False(t, strings.HasPrefix(reason, "#"), "a heading has the reason of %q", m)
		assert.Equal(t, m, redact.Text(m), reason)
		assert.Equal(t, m, redact.Note(m, nil), reason)
	}
	assert.GreaterOrEqual(t, messages, 600)
}

// The text around a credential makes the message useful.
func TestTheRestOfTheMessageStays(t *testing.T) {
	cases := map[string]struct{ reason, in, want string }{
		"URL": {
			"Host, port and user say which database it is.",
			"dial postgres://app:" + "s3cr3t-pw" + "@db.svc:5432/app: timeout",
			"dial postgres://app:[redacted]@db.svc:5432/app: timeout",
		},
		"Nothing": {
			"A flag at the end has no value.",
			"login --password ", "login --password ",
		},
		"Lines": {
			"A stack frame is not a data source name.",
			"f@/src/a.js:1:2\ng@/src/b.js:3:4\ng@(native)",
			"f@/src/a.js:1:2\ng@/src/b.js:3:4\ng@(native)",
		},
		"Query": {
			"The other parameters stay.",
			"GET /v1?api_key=" + "0a1b2c3d4e5f" + "&limit=10: 401",
			"GET /v1?api_key=[redacted]&limit=10: 401",
		},
		"Header": {
			"The scheme says which kind of credential was sent.",
			"Authorization: Bearer " + "abc123def456" + ", retrying",
			"Authorization: Bearer [redacted], retrying",
		},
		"JSON": {
			"The other fields stay.",
			`{"user":"bob","password":"` + "pa,ss}w0rd" + `","db":"x"}`,
			`{"user":"bob","password":"[redacted]","db":"x"}`,
		},
		"Pairs": {
			"The next pair is not part of the value.",
			"user=bob password=" + "hunter2" + ", host=db", "user=bob password=[redacted], host=db",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, redact.Text(tc.in), tc.reason)
		})
	}
}
