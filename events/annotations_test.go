// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

func annotations(n int, value string) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprint("example.com/", i)] = value
	}
	return all
}

// TestAnnotatedEventf_RefusesOneOccurrence whose annotations the API server
// would refuse. The next event of the series is written.
func TestAnnotatedEventf_RefusesOneOccurrence(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		bad    map[string]string
	}{
		"Key":     {"A key is a qualified name.", map[string]string{"not a key": "x"}},
		"Empty":   {"A key is not empty.", map[string]string{"": "x"}},
		"LongKey": {"A key has at most 63 bytes after its prefix.", map[string]string{strings.Repeat("x", 1<<20): "x"}},
		"Nine":    {"An Event has at most 8 of a call.", annotations(9, "x")},
		"Million": {"More cost no memory.", annotations(10_000, strings.Repeat("x", 100))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, stop := start(t, s, events.Options{})
				rec.Legacy().AnnotatedEventf(object("a"), tc.bad, "Warning", "Failed", "away")
				rec.Legacy().AnnotatedEventf(object("a"), annotations(8, "x"), "Warning", "Failed", "away")
				synctest.Wait()
				require.Len(t, s.all(), 1, tc.reason)
				assert.Equal(t, annotations(8, "x"), s.all()[0].Annotations, tc.reason)
				assert.Equal(t, map[string]int64{events.LostRejected: 1}, rec.Stats().Lost, tc.reason)
				require.NoError(t, stop())
				assertAccounts(t, rec)
			})
		})
	}
}

// TestAnnotatedEventf_CutsValues when they are recorded, so what waits is
// bounded.
//
//req:shows E5
func TestAnnotatedEventf_CutsValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		rec.Legacy().AnnotatedEventf(object("a"), annotations(8, strings.Repeat("x y ", 1000)), "Warning", "Failed", "away")
		require.NoError(t, rec.Flush(t.Context()))
		require.Len(t, s.all(), 1)
		assert.Equal(t, annotations(8, strings.Repeat("x y ", 256)), s.all()[0].Annotations)
		assertAccounts(t, rec)
	})
}
