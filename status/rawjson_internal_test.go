// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func TestCanonical(t *testing.T) {
	for raw, want := range map[string]string{
		`null`:                         ``,
		`1`:                            `1`,
		`"a\"}{b"`:                     `"a\"}{b"`,
		`{}`:                           `{}`,
		`[]`:                           `[]`,
		`{"b":1,"a":2}`:                `{"a":2,"b":1}`,
		`{"a":null}`:                   `{}`,
		`{"b":{"d":[],"c":null}}`:      `{"b":{"d":[]}}`,
		`[{"b":1,"a":null},null,[[]]]`: `[{"b":1},null,[[]]]`,
		`{"\\":"\\\\","}":"]"}`:        `{"\\":"\\\\","}":"]"}`,
		`{"b\"":"x\"}","a":[1]}`:       `{"a":[1],"b\"":"x\"}"}`,
		`{"n":12345678901234567890.5}`: `{"n":12345678901234567890.5}`,
	} {
		assert.Equal(t, want, string(canonical([]byte(raw))), raw)
	}
}

func TestAppendDiff(t *testing.T) {
	cases := map[string]struct{ was, is, want string }{
		"Same":            {`{"a":1}`, `{"a":1}`, ``},
		"Set":             {``, `1`, `1`},
		"Cleared":         {`1`, ``, `null`},
		"Changed":         {`1`, `"x"`, `"x"`},
		"Key":             {`{"a":1,"b":2}`, `{"a":1,"b":3}`, `{"b":3}`},
		"KeyGone":         {`{"a":1,"b":2}`, `{"b":2}`, `{"a":null}`},
		"KeyNew":          {`{"b":2}`, `{"a":1,"b":2,"c":3}`, `{"a":1,"c":3}`},
		"Deep":            {`{"a":{"b":{"c":1,"d":2}}}`, `{"a":{"b":{"d":2}}}`, `{"a":{"b":{"c":null}}}`},
		"ObjectForScalar": {`1`, `{"a":1}`, `{"a":1}`},
		"ScalarForObject": {`{"a":1}`, `[]`, `[]`},
		"AllGone":         {`{"a":1}`, `{}`, `{"a":null}`},
		"List":            {`[1,2]`, `[2]`, `[2]`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var was, is []byte
			if tc.was != "" {
				was = []byte(tc.was)
			}
			if tc.is != "" {
				is = []byte(tc.is)
			}
			got, differs := appendDiff([]byte("x"), was, is)
			assert.Equal(t, "x"+tc.want, string(got))
			assert.Equal(t, tc.want != "", differs)
		})
	}
}

// FuzzDiff: the patch, applied as RFC 7386 says, makes one value into the other.
func FuzzDiff(f *testing.F) {
	f.Add(`{"a":{"b":1,"c":[1,{"d":null}]},"e":"x"}`, `{"a":{"c":[]},"f":{"g":null}}`)
	f.Add(`{"a":1,"":{"}":"{"}}`, `{"a":{"":null}}`)
	f.Add(`null`, `[1]`)
	f.Add(`{"\u0000":"\ud800"}`, `{"<":"&"}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		was, ok1 := decodeCanonical(t, a)
		is, ok2 := decodeCanonical(t, b)
		if !ok1 || !ok2 {
			t.Skip()
		}
		patch, differs := appendDiff(nil, was, is)
		require.Equal(t, string(was) != string(is), differs)
		if !differs {
			return
		}
		var from, to, p any
		require.NoError(t, unmarshal(was, &from))
		require.NoError(t, unmarshal(is, &to))
		require.NoError(t, unmarshal(patch, &p), string(patch))
		assert.Equal(t, to, apply(from, p), "%s", patch)
	})
}

// FuzzTreeJSON: a tree is encoded as encoding/json does it.
func FuzzTreeJSON(f *testing.F) {
	f.Add(`{"a":{"b":1,"c":[1,{"d":null}]},"a b":1.5e300,"<":"&","e":"x\u2028é\u0000","":[null,true,-0.0]}`)
	f.Add(`{"z":{"\"":1,"a":null},"y":"\\"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if utiljson.Unmarshal([]byte(text), &v) != nil {
			t.Skip()
		}
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		got, err := treeJSON(v)
		require.NoError(t, err)
		require.Equal(t, string(canonical(raw)), string(got))
		require.True(t, sameTree(v, v, 0))
	})
}

// A list or map that is nil is stored as nothing, and an empty one as it is. The first is no part of what a decoder makes, but of
// what a controller may put there.
func TestTreeOfNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		none, empty any
		want        string
	}{
		"List": {[]any(nil), []any{}, "[]"},
		"Map":  {map[string]any(nil), map[string]any{}, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			none, err := treeJSON(tc.none)
			require.NoError(t, err)
			assert.Nil(t, none)
			empty, err := treeJSON(tc.empty)
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(empty))
			assert.True(t, sameTree(tc.none, tc.none, 0))
			assert.True(t, sameTree(tc.empty, tc.empty, 0))
			assert.False(t, sameTree(tc.none, tc.empty, 0))
			assert.False(t, sameTree(tc.empty, tc.none, 0))
		})
	}
}

func decodeCanonical(t *testing.T, text string) ([]byte, bool) {
	t.Helper()
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil, false
	}
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	c := canonical(raw)
	assert.Equal(t, c, canonicalOrNil(c), "canonical is stable")
	return c, true
}

func canonicalOrNil(c []byte) []byte {
	if c == nil {
		return nil
	}
	return canonical(c)
}

func unmarshal(raw []byte, v any) error {
	if raw == nil {
		return nil
	}
	return json.Unmarshal(raw, v)
}

func apply(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, _ := target.(map[string]any)
	if t = maps.Clone(t); t == nil {
		t = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(t, k)
		} else {
			t[k] = apply(t[k], v)
		}
	}
	return t
}
