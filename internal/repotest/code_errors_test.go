// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestErrors_NameTheirPackageAndCall: the prefix of an error is the package's
// path below the module. The call that failed may follow, as its name with a
// small first letter: "jobgc/expire: new: ".
func TestErrors_NameTheirPackageAndCall(t *testing.T) {
	packages := public(t)
	prefixes := map[string]bool{}
	for _, p := range packages {
		prefixes[p.name()], prefixes[path.Base(p.name())] = true, true
	}
	segment := regexp.MustCompile(`^([a-z][A-Za-z/]*): `)
	function := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)`)
	errorText := regexp.MustCompile("(?:fmt\\.Errorf|errors\\.New)\\(\\s*(\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)")
	found := 0
	for _, p := range packages {
		var source strings.Builder
		for _, name := range p.GoFiles {
			source.WriteString(read(t, path.Join(p.name(), name)))
		}
		calls := map[string]bool{}
		for _, m := range function.FindAllStringSubmatch(source.String(), -1) {
			calls[strings.ToLower(m[1][:1])+m[1][1:]] = true
		}
		for _, literal := range errorText.FindAllStringSubmatch(source.String(), -1) {
			text, err := strconv.Unquote(literal[1])
			require.NoError(t, err)
			m := segment.FindStringSubmatch(text)
			if m == nil || !prefixes[m[1]] {
				continue
			}
			found++
			assert.Equal(t, p.name(), m[1], "package %[2]s: %[1]q begins with another package; begin it with %[2]q", text, p.name())
			if call := segment.FindStringSubmatch(text[len(m[0]):]); call != nil {
				assert.Contains(t, calls, call[1], "package %[2]s: %[1]q names a function that the package does not have; write the name of the call, with a small first letter", text, p.name())
			}
		}
	}
	assert.Greater(t, found, 100, "this test no longer finds the errors of the packages; fix errorText")
}
