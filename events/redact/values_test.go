// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events/redact"
)

//req:shows E5
func TestSecretValuesInEveryForm(t *testing.T) {
	const value = "tulip & rose/>?>?42" // the two alphabets of base64 differ for it
	std := base64.StdEncoding.EncodeToString
	inURL := base64.URLEncoding.EncodeToString
	cases := map[string]struct{ reason, text string }{
		"Plain":  {"The value in plain text.", value},
		"Within": {"No word boundary is needed.", "x" + value + "y"},
		"Base64": {"As the data of a Secret shows it.", std([]byte(value))},
		"Base64Newline": {
			"Values that are made from files often end with a newline.",
			std([]byte(value + "\n")),
		},
		"Base64URL":      {"Base64 has a second alphabet.", inURL([]byte(value))},
		"Base64After1":   {"One byte before it shifts the bits.", std([]byte("u" + value + "&z"))},
		"Base64After2":   {"Two bytes shift them further.", std([]byte("u:" + value))},
		"Base64After3":   {"Three bytes do not shift them.", std([]byte("me:" + value + "!"))},
		"QueryEscaped":   {"In the query of a URL.", "https://h/?q=" + url.QueryEscape(value)},
		"PathEscaped":    {"In the path of a URL.", "https://h/" + url.PathEscape(value)},
		"Quoted":         {"%q of a value with a quote is not the value.", fmt.Sprintf("%q", value)},
		"Twice":          {"Every occurrence is masked.", value + " " + value},
		"AcrossTheCut":   {"Redaction comes before truncation.", strings.Repeat("a", 1015) + " " + value},
		"InAKnownShape":  {"A registered value after a sensitive key.", "password=" + value},
		"SplitByControl": {"Control bytes go first, or they would hide it.", "tulip &\x00 rose/>?>?42"},
	}
	var secrets redact.SecretValues
	require.Equal(t, 1, secrets.Add([]byte(value+"\n")))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := redact.Note(tc.text, secrets.Redact)
			assert.NotContains(t, got, value, tc.reason)
			assert.NotContains(t, got, "tulip", tc.reason)
			assert.NotContains(t, got, std([]byte(value))[2:20], tc.reason)
			assert.NotContains(t, got, inURL([]byte(value))[2:20], tc.reason)
			assert.NotContains(t, got, std([]byte("u:" + value))[6:18], tc.reason)
		})
	}
}

// TestSecretValues_MaskWhatGoPrints: %v of Secret.Data has the bytes of each
// value as numbers.
func TestSecretValues_MaskWhatGoPrints(t *testing.T) {
	secret := map[string][]byte{"password": []byte("tulip & rose/42"), "other": []byte("cedar\nroots\n")}
	var secrets redact.SecretValues
	for _, value := range secret {
		require.Equal(t, 1, secrets.Add(value))
	}
	for _, verb := range []string{"%v", "%+v", "%d", "%#v", "%x", "%q", "%s"} {
		text := fmt.Sprintf("cannot use "+verb, secret)
		got := secrets.Redact(text)
		for _, value := range secret {
			printed := strings.Trim(fmt.Sprintf(verb, value[:8]), `[]"{}byte`)
			assert.NotContains(t, got, printed, text)
		}
		assert.Contains(t, got, redact.Mask, text)
	}
}

// TestSecretValues_MaskWhatIsEscapedTwice: JSON in JSON, a query in a query.
func TestSecretValues_MaskWhatIsEscapedTwice(t *testing.T) {
	lower := func(s string) string {
		return regexp.MustCompile(`%..`).ReplaceAllStringFunc(s, strings.ToLower)
	}
	inJSON := func(s string) string {
		quoted := strconv.Quote(s)
		return quoted[1 : len(quoted)-1]
	}
	for _, value := range []string{
		"p@ss/w0rd&\"1\"", `back\slash%41 and "more"`, "grüß dich, welt", "two  blanks\tand a tab",
	} {
		ascii := strconv.QuoteToASCII(value)
		var secrets redact.SecretValues
		require.Equal(t, 1, secrets.Add([]byte(value)))
		for name, text := range map[string]string{
			"ASCII":         ascii[1 : len(ascii)-1],
			"LowerCase":     lower(url.QueryEscape(value)),
			"LowerCasePath": lower(url.PathEscape(value)),
			"JSONInJSON":    inJSON(inJSON(value)),
			"QueryInQuery":  url.QueryEscape(url.QueryEscape(value)),
			"PathInPath":    url.PathEscape(url.PathEscape(value)),
			"QueryInJSON":   inJSON(url.QueryEscape(value)),
			"JSONInQuery":   url.QueryEscape(inJSON(value)),
			"Slash":         strings.ReplaceAll(inJSON(value), "/", `\/`),
			"Base64InJSON":  strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(value)), "/", `\/`),
		} {
			got := strings.TrimRight(secrets.Redact("it is "+text), "=")
			assert.Equal(t, "it is "+redact.Mask, got, "%s of %s", name, value)
		}
	}
}

// TestSecretValues_MaskABlockOfYAML: the lines of the value are indented, or
// folded into one.
func TestSecretValues_MaskABlockOfYAML(t *testing.T) {
	value := "host = db\n  user = app\nkey = zinnia"
	var secrets redact.SecretValues
	require.Equal(t, 1, secrets.Add([]byte(value+"\n")))
	for _, indent := range []string{"", "  ", "\t", "        "} {
		block := strings.ReplaceAll(value, "\n", "\n"+indent)
		text := "file: |\n" + indent + block + "\nnext: fine"
		assert.Equal(t, "file: |\n"+indent+redact.Mask+"\nnext: fine", secrets.Redact(text))
		assert.Equal(t, "file: | "+redact.Mask+" next: fine",
			strings.Join(strings.Fields(redact.Note(text, secrets.Redact)), " "))
		quoted := strconv.Quote(text)
		assert.NotContains(t, secrets.Redact(quoted), "zinnia")
	}
	assert.Equal(t, redact.Mask, secrets.Redact(strings.ReplaceAll(value, "\n", " ")))
}

// JSON and each part of a URL have different escapes.
func TestSecretValuesAreMaskedHoweverTheyAreEscaped(t *testing.T) {
	escapes := map[string]func(string) string{
		"User": func(v string) string { return url.User(v).String() },
		"Password": func(v string) string {
			return strings.TrimPrefix(url.UserPassword("u", v).String(), "u:")
		},
		"Query": func(v string) string {
			return strings.TrimPrefix(url.Values{"q": {v}}.Encode(), "q=")
		},
		"Path": func(v string) string {
			return strings.TrimPrefix((&url.URL{Path: "/" + v}).String(), "/")
		},
		"Segment": url.PathEscape,
		"Fragment": func(v string) string {
			return strings.TrimPrefix((&url.URL{Fragment: v}).String(), "#")
		},
		"JSON": func(v string) string {
			b, err := json.Marshal(v)
			require.NoError(t, err)
			return strings.Trim(string(b), `"`)
		},
		"Go": func(v string) string { return strings.Trim(strconv.Quote(v), `"`) },
	}
	for _, value := range []string{
		"p@ss/w0rd$&1", "Pa&w0rd<1>xyz", "a b%c:d;e,f?g=h#i", `it's "so"!*()_`, "grüß dich+[1]",
	} {
		var secrets redact.SecretValues
		require.Equal(t, 1, secrets.Add([]byte(value)))
		for name, escape := range escapes {
			got := secrets.Redact("it is " + escape(value) + " again")
			assert.Equal(t, "it is "+redact.Mask+" again", got, "%s of %s", name, value)
		}
	}
}

func TestSecretValuesWithQuotesAndBreaks(t *testing.T) {
	var secrets redact.SecretValues
	value := "first \"line\"\nsecond line\x01"
	require.Equal(t, 1, secrets.Add([]byte(value)))
	for _, text := range []string{value, fmt.Sprintf("%q", value), fmt.Sprintf("config %s is bad", value)} {
		got := redact.Note(text, secrets.Redact)
		assert.NotContains(t, got, "second line", text)
	}
}

func TestSecretValuesRefuse(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  []byte
	}{
		"Nil":     {"A nil value is not taken.", nil},
		"Empty":   {"An empty value is not taken.", []byte{}},
		"Short":   {"Seven bytes would mask ordinary words.", []byte("seven77")},
		"Blank":   {"White space is not part of a value.", []byte("          ")},
		"Padded":  {"White space does not make a value long.", []byte("   abc    ")},
		"TheMask": {"It would mask what was masked.", []byte("redacted")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var secrets redact.SecretValues
			assert.Zero(t, secrets.Add(tc.value), tc.reason)
			assert.Equal(t, "x "+string(tc.value), secrets.Redact("x "+string(tc.value)), tc.reason)
		})
	}
	var none *redact.SecretValues
	assert.Zero(t, none.Add([]byte("long enough")))
	assert.Equal(t, "clean", none.Redact("clean"))
	assert.Equal(t, "pwd=[redacted]", none.Redact("pwd="+"hunter2"))
}

// A text that is shorter than the head of a value does not match it.
func TestSecretValuesWithZeroBytes(t *testing.T) {
	var secrets redact.SecretValues
	secrets.Add([]byte("\x00\x00\x00\x00\x00abc"))
	assert.Equal(t, "abc", secrets.Redact("abc"))
}

func TestSecretValuesSideBySide(t *testing.T) {
	var secrets redact.SecretValues
	secrets.Add([]byte("tulip&rose"))
	assert.Equal(t, redact.Mask+redact.Mask, secrets.Redact("tulip&rosetulip&rose"))
}

func TestSecretValuesWithTwoBlanks(t *testing.T) {
	var secrets redact.SecretValues
	secrets.Add([]byte("two  blanks"))
	assert.Equal(t, "a\n"+redact.Mask, secrets.Redact("a\ntwo  blanks"))
}

func TestSecretValuesDoNotKeepTheCallersBytes(t *testing.T) {
	var secrets redact.SecretValues
	value := []byte("a value to keep")
	secrets.Add(value)
	clear(value)
	assert.Equal(t, "[redacted]", secrets.Redact("a value to keep"))
}

func TestSecretValuesAreBounded(t *testing.T) {
	var secrets redact.SecretValues
	value := func(i int) string { return fmt.Sprintf("value-number-%04d", i) }
	for i := range 1024 {
		secrets.Add([]byte(value(i)))
	}
	secrets.Add([]byte(value(0))) // used again
	secrets.Add([]byte(value(1024)))
	assert.Equal(t, redact.Mask, secrets.Redact(value(0)), "a value that was added again stays")
	assert.Equal(t, value(1), secrets.Redact(value(1)), "the oldest left")
	assert.Equal(t, redact.Mask, secrets.Redact(value(2)))
	assert.Equal(t, redact.Mask, secrets.Redact(value(1024)))
	for range 12 {
		secrets.Add([]byte(strings.Repeat("x", 100<<10)))
	}
	assert.Equal(t, redact.Mask, secrets.Redact(value(1024)), "a known value counts once")
}

// Redact leaves none of several overlapping values whole. If two begin at the
// same place, it masks the longer one whole.
func TestOverlappingSecretValues(t *testing.T) {
	var secrets redact.SecretValues
	secrets.Add([]byte("abcdefgh"), []byte("abcdefghij"), []byte("efghijkl"), []byte("]suffix-of-mask"))
	assert.Equal(t, redact.Mask, secrets.Redact("abcdefghij"))
	for _, text := range []string{
		"abcdefghijkl", "abcabcdefghdefgh", "abcdefghsuffix-of-mask", "efghijklabcdefgh]suffix-of-mask",
	} {
		got := secrets.Redact(text)
		for _, v := range []string{"abcdefgh", "efghijkl", "]suffix-of-mask"} {
			assert.NotContains(t, got, v, text)
		}
	}
}

func TestSecretValuesConcurrently(t *testing.T) {
	var secrets redact.SecretValues
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 50 {
				v := fmt.Sprintf("goroutine-%d-value-%d", g, i)
				secrets.Add([]byte(v))
				assert.Equal(t, "is "+redact.Mask, secrets.Redact("is "+v))
			}
		})
	}
	all.Wait()
}

// TestNote_MasksALongValueThatIsCut: a note is cut at 4 KiB before it is
// redacted, and the end of the value is gone.
func TestNote_MasksALongValueThatIsCut(t *testing.T) {
	var file strings.Builder
	for i := range 200 {
		fmt.Fprintf(&file, "user%03d:$apr1$h%03dsalt$kqLJwxyz%03d\n", i, i, i)
	}
	var v redact.SecretValues
	require.Equal(t, 1, v.Add([]byte(file.String())))
	for _, value := range []string{file.String(), fmt.Sprintf("%q", file.String())} {
		out := redact.Note("cannot parse htpasswd: "+value, v.Redact)
		assert.NotContains(t, out, "kqLJwxyz001")
		assert.Contains(t, out, "cannot parse htpasswd:")
	}
}

// TestSecretValues_KeepsOneMiB of values.
func TestSecretValues_KeepsOneMiB(t *testing.T) {
	var v redact.SecretValues
	value := func(i, size int) []byte { return fmt.Appendf(nil, "%08d%s", i, strings.Repeat("x", size-8)) }
	for i := range 40 {
		require.Equal(t, 1, v.Add(value(i, 64<<10)))
	}
	masked := func(i, size int) bool { return v.Redact(string(value(i, size))) == redact.Mask }
	assert.False(t, masked(23, 64<<10), "it was added before the last MiB")
	assert.True(t, masked(24, 64<<10))
	assert.True(t, masked(39, 64<<10))
	assert.Equal(t, 1, v.Add(value(40, 1<<20)), "the largest size of a Secret")
	assert.True(t, masked(40, 1<<20))
	assert.False(t, masked(39, 64<<10))
	assert.Zero(t, v.Add(value(41, 1<<20+1)))
	assert.True(t, masked(40, 1<<20))
}

// addOthers adds n values that no other test has.
func addOthers(v *redact.SecretValues, n int) {
	for i := range n {
		v.Add(fmt.Appendf(nil, "another value %d", i))
	}
}

// begun returns an attempt that has read values.
func begun(t *testing.T, v *redact.SecretValues, values ...[]byte) *redact.Attempt {
	t.Helper()
	data := map[string][]byte{}
	for i, value := range values {
		data[fmt.Sprint(i)] = value
	}
	attempt := v.Begin(func(context.Context) (map[string][]byte, error) { return data, nil })
	_, err := attempt.Read(t.Context())
	require.NoError(t, err)
	return attempt
}

// TestAttempt_CountsEachCaller: two reconciles may read the same Secret.
func TestAttempt_CountsEachCaller(t *testing.T) {
	var v redact.SecretValues
	value := []byte("the pinned value")
	first := begun(t, &v, value, []byte("short"))
	second := begun(t, &v, value, value)
	assert.Equal(t, "is short", v.Redact("is short"), "an attempt refuses what Add refuses")
	v.Add(value)
	first.Done()
	first.Done()
	addOthers(&v, 2000)
	assert.Equal(t, redact.Mask, v.Redact(string(value)), "the second attempt still holds it")
	assert.Equal(t, redact.Mask, v.Redact("another value 976"), "a value of an attempt counts toward no limit")
	second.Done()
	addOthers(&v, 1023)
	assert.Equal(t, redact.Mask, v.Redact(string(value)), "it counts as added last")
	v.Add([]byte("one value more"))
	assert.Equal(t, string(value), v.Redact(string(value)))
}

// TestAttempt_LeavesTheLimitsToOthers: its values push out no other value.
func TestAttempt_LeavesTheLimitsToOthers(t *testing.T) {
	var v redact.SecretValues
	v.Add([]byte("the oldest value"))
	big := make([][]byte, 0, 40)
	for i := range 40 {
		big = append(big, fmt.Appendf(nil, "%08d%s", i, strings.Repeat("x", 64<<10-8)))
	}
	attempt := begun(t, &v, big...)
	assert.Equal(t, redact.Mask, v.Redact("the oldest value"))
	assert.Equal(t, redact.Mask, v.Redact(string(big[0])))
	attempt.Done()
	assert.Equal(t, "the oldest value", v.Redact("the oldest value"), "more than 1 MiB was added after it")
	var none *redact.SecretValues
	begun(t, none, []byte("long enough")).Done()
	assert.Equal(t, "long enough", none.Redact("long enough"))
}

// TestRedact_IsAFixedPoint: a mask may join the parts of a value, or stand for
// one that a rule finds only then.
func TestRedact_IsAFixedPoint(t *testing.T) {
	var v redact.SecretValues
	v.Add([]byte("abcdefgh"), []byte("efghijkl"), []byte("]suffix-of-mask"))
	for _, text := range []string{
		"abcdabcdefghefgh", "password=abcdefgh-x", "abcdefghsuffix-of-mask", "token: abcdefgh next",
	} {
		once := v.Redact(text)
		assert.Equal(t, once, v.Redact(once), text)
	}
}
