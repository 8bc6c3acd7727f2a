// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type nothing struct{}

func (nothing) GetByKey(string) (any, bool, error) { return nil, false, nil }

// The cached keys save allocations and must not grow without bound.
func TestStoreKeysAreBounded(t *testing.T) {
	s := newStore(nothing{})
	for i := range 3*maxKeys + 7 {
		name := fmt.Sprint("job-", i)
		for range 2 {
			assert.Equal(t, "ns/"+name, s.key(Ref{Namespace: "ns", Name: name}))
		}
		require.Len(t, s.keys, i%maxKeys+1, "they are kept until there are too many")
	}
}
