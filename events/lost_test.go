// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// An object that carries no kind is what informers and typed clients return,
// and a unit test must see that nothing is written.
func TestFlush_TellsOfWhatWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, started := range []bool{true, false} {
			s := &server{}
			rec, err := events.New(s.sink(), controller, events.Options{})
			require.NoError(t, err)
			stop := func() error { return nil }
			if started {
				stop = run(t, rec)
			}
			rec.Failure(bare("a"), errAway)
			rec.Failure(object("b"), errAway)
			err = rec.Flush(t.Context())
			requireLost(t, err, map[string]int64{events.LostNoReference: 1})
			require.ErrorContains(t, err, "Options.Scheme", "what to fix")
			assert.Len(t, s.all(), 1, "the others are written")

			require.NoError(t, rec.Flush(t.Context()), "a loss is returned once")
			rec.Failure(bare("a"), errAway)
			requireLost(t, rec.Flush(t.Context()), map[string]int64{events.LostNoReference: 1})
			assert.Equal(t, map[string]int64{events.LostNoReference: 2}, rec.Stats().Lost)
			if started {
				require.NoError(t, stop(), "both were lost before, and returned")
				require.NoError(t, rec.Flush(t.Context()))
			}
			assertAccounts(t, rec)
		}
	})
}

func TestFlush_TellsOfBothWhatIsLostAndWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return unavailable() }}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		rec.Failure(object("a"), errAway)
		rec.Failure(bare("b"), errAway)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = rec.Flush(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		requireLost(t, err, map[string]int64{events.LostNoReference: 1})
	})
}
