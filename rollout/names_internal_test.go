// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The quick look in front of a check must never pass what the check refuses.
func TestNames_AgreeWithKubernetes(t *testing.T) {
	for _, s := range names() {
		sameNames(t, s)
	}
}

func FuzzNames(f *testing.F) {
	for _, s := range names() {
		f.Add(s)
	}
	f.Fuzz(sameNames)
}

func sameNames(t *testing.T, s string) {
	t.Helper()
	assert.Equal(t, validation.IsDNS1123Label(s), dnsLabel(s), "label %q", s)
	assert.Equal(t, validation.IsDNS1123Subdomain(s), dnsName(s), "name %q", s)
	assert.Equal(t, validation.IsQualifiedName(s), qualifiedName(s), "qualified %q", s)
	assert.Equal(t, validation.IsQualifiedName(strings.ToLower(s)), annotationName(s), "annotation %q", s)
	assert.Equal(t, validation.IsValidLabelValue(s), labelValue(s), "value %q", s)
}

// The quick look is worth its lines only while it knows the usual name: the
// rest goes through regular expressions.
func TestTidy_RecognisesCommonNames(t *testing.T) {
	const all, inner = "azAZ09", "-_."
	assert.True(t, tidy(all+inner+all, 15, true, inner), "every letter at the end of its range, and as long as may be")
	assert.True(t, tidy("az09", 4, false, ""))
	assert.False(t, tidy("az09", 3, false, ""), "too long")
	assert.False(t, tidy("aZ", 9, false, ""), "capitals where there are none")
	assert.True(t, tidyDomain("a-b.c"))
}

// names are all short strings of the characters that matter, and lengths at the
// limits.
func names() []string {
	letters := []string{"a", "Z", "0", "9", "-", "_", ".", "/", " ", "é"}
	out := []string{""}
	for range 3 {
		for _, s := range out[len(out)-min(len(out), 1000):] {
			for _, l := range letters {
				out = append(out, s+l)
			}
		}
	}
	for _, n := range []int{62, 63, 64, 252, 253, 254, 315, 316, 317, 318} {
		long := strings.Repeat("a", n)
		out = append(out, long, long+"/a", "a/"+long, strings.Repeat("a.", n/2)+"a", strings.Repeat("a.", n/2)+"a/b")
	}
	return out
}
