// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package env_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/env"
)

func set(value string) env.Lookup {
	return func(name string) (string, bool) { return value, name == "X" }
}

func TestDuration(t *testing.T) {
	const def = 42 * time.Second
	cases := map[string]struct {
		reason string
		value  string
		want   time.Duration
		fails  bool
	}{
		"Empty":        {"Helm renders an unset value as an empty string.", "", def, false},
		"Blank":        {"White space is not a value.", "  ", def, false},
		"Seconds":      {"Whole seconds are the form of the old settings.", "600", 600 * time.Second, false},
		"Zero":         {"0 means what the setting says it means, and is not the default.", "0", 0, false},
		"GoDuration":   {"10m is ten minutes, never ten.", "10m", 10 * time.Minute, false},
		"Mixed":        {"Any Go duration is accepted.", "1h30m", 90 * time.Minute, false},
		"Padded":       {"White space around a value is not part of it.", " 10m ", 10 * time.Minute, false},
		"Days":         {"30d must not become 30.", "30d", 0, true},
		"Exponent":     {"1e3 is neither seconds nor a duration.", "1e3", 0, true},
		"Fraction":     {"Seconds are whole.", "1.5", 0, true},
		"Negative":     {"No setting of this module has a negative length.", "-1", 0, true},
		"NegativeGo":   {"Nor in the Go form.", "-1s", 0, true},
		"Text":         {"A word is refused, not ignored.", "abc", 0, true},
		"Overflow":     {"More seconds than a Duration holds must not wrap.", "9223372037", 0, true},
		"HugeNumber":   {"A number beyond int64 is refused.", "99999999999999999999", 0, true},
		"LargestValue": {"The greatest number is accepted.", "9223372036", 9223372036 * time.Second, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := env.Duration(set(tc.value), "X", def)
			if tc.fails {
				var e *env.Error
				require.ErrorAs(t, err, &e, tc.reason)
				assert.Equal(t, "X", e.Name, tc.reason)
				assert.Contains(t, err.Error(), "10m", "the error names an accepted value")
				assert.Equal(t, def, got, "an error leaves the default")
				return
			}
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
		})
	}
}

func TestBool(t *testing.T) {
	for v, want := range map[string]bool{
		"1": true, "t": true, "TRUE": true, "Yes": true, "on": true,
		"0": false, "f": false, "False": false, "no": false, "OFF": false,
	} {
		got, err := env.Bool(set(v), "X", !want)
		require.NoError(t, err, v)
		assert.Equal(t, want, got, v)
	}
	for _, v := range []string{"enabled", "y", "2", "-1", "truee"} {
		got, err := env.Bool(set(v), "X", true)
		require.Error(t, err, v)
		assert.True(t, got, "an error leaves the default")
	}
	got, err := env.Bool(set(" "), "X", true)
	require.NoError(t, err)
	assert.True(t, got)
	got, err = env.Bool(set("0"), "Y", true)
	require.NoError(t, err)
	assert.True(t, got, "another variable is not read")
}

func TestInt(t *testing.T) {
	for _, v := range []string{"", "1", "10", "100"} {
		_, err := env.Int(set(v), "X", 5, 1, 100)
		require.NoError(t, err, v)
	}
	for _, v := range []string{"0", "101", "1.0", "1e1", "ten", "-5", "10m"} {
		got, err := env.Int(set(v), "X", 5, 1, 100)
		require.ErrorContains(t, err, "from 1 to 100", v)
		assert.Equal(t, 5, got, v)
	}
}

func TestString(t *testing.T) {
	for name, tc := range map[string]struct{ reason, name, want string }{
		"Set":    {"Blanks around a value are not part of it.", "X", "a b"},
		"Unset":  {"The default is empty.", "Y", ""},
		"NoName": {"A setting without a variable is not looked up.", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			lookup := func(name string) (string, bool) {
				assert.NotEmpty(t, name, tc.reason)
				if name == "X" {
					return " a b\n", true
				}
				return "not set", false
			}
			assert.Equal(t, tc.want, env.String(lookup, tc.name), tc.reason)
		})
	}
}
