// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events/redact"
)

// TestText_MasksAValueWhereverItStands: a key is next to one of its places.
func TestText_MasksAValueWhereverItStands(t *testing.T) {
	for name, tc := range map[string]struct{ reason, in, want string }{
		"Before": {
			"The key may come later.",
			"login with walnut-88 failed: password=walnut-88", "login with [redacted] failed: password=[redacted]",
		},
		"Within": {
			"No word boundary is needed.",
			"password=walnut-88, tried xwalnut-88y", "password=[redacted], tried x[redacted]y",
		},
		"Escaped": {
			"A URL has the value with escapes.",
			"password=wal/nut&88 was sent as q?p=wal%2fnut%2688", "password=[redacted] was sent as q?p=[redacted]",
		},
		"Unescaped": {
			"The first place may be the one with escapes.",
			`{"password":"wal\"nut"}: wal"nut is wrong`, `{"password":"[redacted]"}: [redacted] is wrong`,
		},
		"Six":  {"Six bytes are enough.", "password=walnut walnut", "password=[redacted] [redacted]"},
		"Five": {"A shorter value is part of other words.", "password=olive olives", "password=[redacted] olives"},
		"Word": {
			"A word that messages have is masked after its key only.",
			`"password":"my-password", and my-password is wrong`, `"password":"[redacted]", and my-password is wrong`,
		},
		"Half": {
			"A parser quotes a part.",
			"a://u:walnut#8@h: bad port 'waln'", "a://u:[redacted]@h: bad port '[redacted]'",
		},
		"Ordinary": {
			"A quoted word that messages have stays.",
			`password=token-walnut in "token" of the file`, `password=[redacted] in "token" of the file`,
		},
		"Placeholder": {
			"A long one stays, too.",
			`password="<` + strings.Repeat("of the file ", 50) + `>"`, `password="<` + strings.Repeat("of the file ", 50) + `>"`,
		},
		"Third": {
			"Three bytes tell little.",
			"a://u:walnut#8@h: bad port 'wal'", "a://u:[redacted]@h: bad port 'wal'",
		},
		"Other": {
			"Another quotation stays.",
			"a://u:walnut#8@h: bad port 'waiting'", "a://u:[redacted]@h: bad port 'waiting'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := redact.Text(tc.in)
			assert.Equal(t, tc.want, got, tc.reason)
			assert.Equal(t, got, redact.Text(got), "redacting twice changes nothing")
		})
	}
}

// TestText_MasksWhatParsersQuote: Go's own errors quote the part of a password
// that they take for a port.
func TestText_MasksWhatParsersQuote(t *testing.T) {
	for _, password := range []string{"hunter#2x", "hunter?2x", "hunter/2x"} {
		_, err := url.Parse("postgres://app:" + password + "@db/runs")
		require.Error(t, err)
		assert.Contains(t, err.Error(), `":hunter"`)
		assert.NotContains(t, redact.Text(err.Error()), "hunter")
		assert.NotContains(t, redact.Text(fmt.Sprintf("%q", err)), "hunter")
		var cause *url.Error
		require.ErrorAs(t, err, &cause)
		assert.NotContains(t, redact.Text(cause.Err.Error()), "hunter", "the URL is not quoted")
	}
}

// TestText_LooksAtAValueAgainAfterDecoding: the key, the signs around the value
// and the value itself may be escaped.
func TestText_LooksAtAValueAgainAfterDecoding(t *testing.T) {
	for in, want := range map[string]string{
		`password%3Dwalnut-88%26user%3Dapp`:            `password%3D[redacted]%26user%3Dapp`,
		`%7b%22password%22%3a%22walnut-88%22%7d`:       `%7b%22password%22%3a%22[redacted]%22%7d`,
		`{\u0022password\u0022:\u0022walnut-88\u0022}`: `{\u0022password\u0022:\u0022[redacted]\u0022}`,
		`"pass\u0077ord":"walnut-88"`:                  `"pass\u0077ord":"[redacted]"`,
		`"postgres:\/\/app:walnut-88@db\/x"`:           `"postgres:\/\/app:[redacted]@db\/x"`,
		`"mysql:\\\/\\\/app:walnut-88@db\\\/x"`:        `"mysql:\\\/\\\/app:[redacted]@db\\\/x"`,
		`&lt;password&gt;walnut-88&lt;/password&gt;`:   `&lt;password&gt;[redacted]&lt;/password&gt;`,
		`"kind: Secret\nstringData:\n  a: walnut-88"`:  `"kind: Secret\nstringData:\n  a: [redacted]"`,
		`{"password":"\u0077alnut%2D88"}: walnut-88`:   `{"password":"[redacted]"}: [redacted]`,
		`100%, C:\new\users and %s, 5%25`:              `100%, C:\new\users and %s, 5%25`,
	} {
		assert.Equal(t, want, redact.Text(in))
	}
}

// TestText_MasksAtEachDepthOfQuotes: JSON in JSON in an error in an error.
func TestText_MasksAtEachDepthOfQuotes(t *testing.T) {
	text := `{"password":"walnut \"88","user":"app"}`
	for depth := range 6 {
		got := redact.Text(text)
		assert.NotContains(t, got, "walnut", depth)
		assert.NotContains(t, got, "88", depth)
		assert.Contains(t, got, "app", depth)
		text = strconv.Quote(text)
	}
}

// TestText_ReadsAListOfArgumentsAsACommand: a container's command is a list.
func TestText_ReadsAListOfArgumentsAsACommand(t *testing.T) {
	for in, want := range map[string]string{
		`["redis-cli","-a","walnut-88","ping"]`:           `["redis-cli","-a","[redacted]","ping"]`,
		`['mysql', '-uroot', '-pwalnut-88', 'x']`:         `['mysql', '-uroot', '-p[redacted]', 'x']`,
		`args ["--token" "walnut-88" "--v=2"]`:            `args ["--token" "[redacted]" "--v=2"]`,
		`["x","--password","walnut and oak","-v","2"]`:    `["x","--password","[redacted]","-v","2"]`,
		`['--token', 'walnut and oak', 'a b', '-c']`:      `['--token', '[redacted]', 'a b', '-c']`,
		`{\"args\":[\"--client-secret\",\"walnut-88\"]}`:  `{\"args\":[\"--client-secret\",\"[redacted]\"]}`,
		`unknown flag "-v" , `:                            `unknown flag "-v" , `,
		`["--token-file","/run/token","--password",""]`:   `["--token-file","/run/token","--password",""]`,
		`{"flag":"--token","name":"walnut-88","n":"-1"}`:  `{"flag":"--token","name":"walnut-88","n":"-1"}`,
		`{"stringData":{"a":"tok-alpha","b":"walnut-8"}}`: `{"stringData":{"a":"[redacted]","b":"[redacted]"}}`,
	} {
		assert.Equal(t, want, redact.Text(in))
	}
}

// TestText_LooksForManyValues: values that begin alike cost no more than a
// bounded number of comparisons, and rules find each of them anyway.
func TestText_LooksForManyValues(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "password=walnut-%d ", i)
	}
	assert.Equal(t, strings.Repeat("password=[redacted] ", 1000), redact.Text(text.String()))
}
