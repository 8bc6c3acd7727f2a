// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package notehash

import (
	"hash/maphash"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSum(t *testing.T) {
	seed := maphash.MakeSeed()
	for name, tc := range map[string]struct {
		reason, a, b string
		same         bool
	}{
		"UUID":       {"Generated for each object.", "run 0a1b2c3d-0000-4000-8000-00000000000a", "run ffffffff-1111-4111-9111-111111111111", true},
		"PodName":    {"generateName adds five characters.", "pod web-x2x4z", "pod web-b7c9d", true},
		"ReplicaSet": {"And a Deployment's pods have a hash before them.", "pod web-7d4b9c6f5-x2x4z", "pod web-5f6d7c8b9-b7c9d", true},
		"Timestamp":  {"Of each try.", "at 1700000000", "at 1700000001", true},
		"Number":     {"A step is a cause.", "step 3 failed", "step 4 failed", false},
		"Port":       {"An address is a cause.", "dial 10.0.0.1:8080", "dial 10.0.0.1:8443", false},
		"ErrorCode":  {"And the code of an error.", "ORA-00942", "ORA-01017", false},
		"Azure":      {"A code may have seven digits.", "AADSTS700016", "AADSTS7000215", false},
		"APIVersion": {"And a version.", "v1beta1", "v1beta2", false},
		"OtherName":  {"The name before the suffix counts.", "pod web-x2x4z", "pod api-x2x4z", false},
		"Words":      {"Five letters are a word.", "the-quick", "the-slowe", false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.same, Sum(seed, []byte(tc.a)) == Sum(seed, []byte(tc.b)), tc.reason)
		})
	}
}

func FuzzSum(f *testing.F) {
	for _, s := range []string{"", "a", "web-x2x4z", "0a1b2c3d-0000-4000-8000-00000000000a", strings.Repeat("a1", 300)} {
		f.Add(s)
	}
	seed := maphash.MakeSeed()
	f.Fuzz(func(t *testing.T, s string) {
		text := []byte(s)
		assert.NotZero(t, Sum(seed, text))
		assert.Equal(t, s, string(text), "the note is left alone")
		for at := 0; at < len(text); {
			from, end := generated(text, at)
			assert.LessOrEqual(t, at, from)
			assert.Less(t, at, end)
			at = end
		}
	})
}
