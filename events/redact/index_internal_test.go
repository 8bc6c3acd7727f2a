// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestIndex_KeepsAFormAsLongAsAValueHasIt: two values may share a form. Removed
// forms do not stay in the filter.
func TestIndex_KeepsAFormAsLongAsAValueHasIt(t *testing.T) {
	var x index
	x.add("abcdefgh-1")
	x.add("abcdefgh-1")
	x.add("abcdefgh-2")
	x.remove("abcdefgh-3") // not there
	x.remove("other-head")
	x.remove("abcdefgh-1")
	assert.Equal(t, Mask+Mask+"abcdefgh-3", x.mask("abcdefgh-1abcdefgh-2abcdefgh-3"))
	x.remove("abcdefgh-1")
	assert.Equal(t, "abcdefgh-1"+Mask, x.mask("abcdefgh-1abcdefgh-2"))
	x.remove("abcdefgh-2")
	assert.Empty(t, x.heads)
	assert.Equal(t, index{}.filter, x.filter)
	assert.Equal(t, "abcdefgh-2", x.mask("abcdefgh-2"))
}
