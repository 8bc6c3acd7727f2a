// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

func TestTenThousandFailuresOfOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{PerMinute: 1})
		run := object("a")
		err := errors.New("the store is away")
		for i := range 10_000 {
			run.ResourceVersion = strconv.Itoa(i)
			rec.Failure(run, err)
			<-time.After(time.Second)
		}
		require.NoError(t, stop())
		creates, patches := len(s.writes("create")), len(s.writes("patch"))
		t.Log(creates, patches)
		assert.Equal(t, 1, creates)
		assert.LessOrEqual(t, creates+patches, 25)
		assert.Equal(t, int32(10_000), s.all()[0].Series.Count)
		st := rec.Stats()
		t.Logf("%+v", st)
	})
}
