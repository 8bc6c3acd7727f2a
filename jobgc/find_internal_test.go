// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestIsPast_KnowsAJobByWhatIsLeft: a policy may take the annotations or the
// finalizer away. Only a Job that has neither is from before Step.
func TestIsPast_KnowsAJobByWhatIsLeft(t *testing.T) {
	m := machine{view: view{named: true, ended: true}}
	assert.True(t, m.isPast(jobFacts{}))
	assert.False(t, m.isPast(jobFacts{annotated: true}))
	assert.False(t, m.isPast(jobFacts{held: true}))
	assert.False(t, m.isPast(jobFacts{annotated: true, held: true}))
}
