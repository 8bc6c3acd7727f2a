// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package isolate_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/isolate"
)

func TestWait(t *testing.T) {
	refused := errors.New("refused")
	cases := map[string]struct {
		reason string
		f      func() (int, error)
		value  int
		err    error
		says   string
	}{
		"Value": {"Wait returns the function's value.", func() (int, error) { return 7, nil }, 7, nil, ""},
		"Error": {
			"Wait returns the function's error unchanged.",
			func() (int, error) { return 0, refused }, 0, refused, "refused",
		},
		"Panic": {
			"The value may hold a secret.",
			func() (int, error) { panic("password=hunter2") }, 0, isolate.ErrPanic, "panicked with a string",
		},
		"Runtime": {
			"The runtime's errors hold no secret.",
			func() (int, error) { return []int{}[len(t.Name())], nil },
			0, isolate.ErrPanic, "index out of range",
		},
		"Exit": {
			"A function that exits its goroutine is an error.",
			func() (int, error) { runtime.Goexit(); return 7, nil }, 0, nil, "ended its goroutine",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var c isolate.Call[int]
			for range 2 { // a function that failed is called again
				value, err := c.Start(tc.f).Wait(t.Context())
				assert.Equal(t, tc.value, value, tc.reason)
				if tc.err != nil {
					require.ErrorIs(t, err, tc.err)
				}
				if tc.says == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorContains(t, err, tc.says)
				assert.NotContains(t, err.Error(), "hunter2")
			}
		})
	}
}

// A function that hangs costs one wait and one goroutine. When it returns, it
// is called again.
func TestWait_GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c isolate.Call[int64]
		var calls atomic.Int64
		release := make(chan struct{})
		hangs := func() (int64, error) {
			n := calls.Add(1)
			<-release
			return n, nil
		}
		start := time.Now()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := c.Start(hangs).Wait(ctx)
			cancel()
			require.ErrorIs(t, err, isolate.ErrLate)
		}
		assert.Equal(t, time.Second, time.Since(start), "only the first waits")
		assert.Equal(t, int64(1), calls.Load(), "one goroutine is outstanding, not three")
		close(release)
		synctest.Wait()
		value, err := c.Start(hangs).Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, int64(2), value, "it is called again")
	})
}

// Two callers at the same time share one call.
func TestStart_JoinsTheCallThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c isolate.Call[*int]
		f := func() (*int, error) {
			<-time.After(time.Second)
			return new(int), nil
		}
		first, second := c.Start(f), c.Start(f)
		a, err := first.Wait(t.Context())
		require.NoError(t, err)
		b, err := second.Wait(t.Context())
		require.NoError(t, err)
		assert.Same(t, a, b)
	})
}
