// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
)

// FuzzNames: any text is a name, and each label is one that every exporter
// accepts.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"agentrun", "", "\xff\xfe", "a\"b\\c\nd", "é", strings.Repeat("x", 300), "{}", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		m, reader := newSet(t, metrics.Options{})
		m = m.Scope(name)
		c := m.Controller(name)
		require.NoError(t, reconcile(t.Context(), c, name, 0, nil))
		c.Events()(name, 1)
		c.StatusWrites()(name, time.Second)
		lease, err := m.Lease(name)
		require.NoError(t, err)
		lease.Set(true)
		m.ObserveCache(name, func() time.Duration { return time.Second })
		m.ClientRequest(t.Context(), metrics.Request{Verb: name, Group: name, Resource: name, Code: name}, time.Second)
		m.ObserveConditions(name, counted(map[metrics.Condition]int64{{Type: name, Status: name}: 1}))
		got := collect(t, reader)
		for series := range got {
			assert.True(t, utf8.ValidString(series), series)
		}
		for _, family := range []string{"reconciles", "reconcile.duration", "objects", "leader", "cache.age", "client.requests"} {
			assert.NotEmpty(t, with(got, "controller."+family), family)
		}
	})
}
