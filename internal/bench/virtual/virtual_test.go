// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/bench/virtual"
)

func TestMain(m *testing.M) {
	virtual.Child(wait)
	m.Run()
}

// wait waits for the given time, and returns how long it waited.
func wait(_ context.Context, what string) (time.Duration, error) {
	d, err := time.ParseDuration(what)
	if err != nil {
		return 0, errors.New("not a duration: " + what)
	}
	began := time.Now()
	<-time.After(d)
	return time.Since(began), nil
}

func TestPlay(t *testing.T) {
	began := time.Now()
	got, err := virtual.Play[time.Duration](t.Context(), "1000h")
	require.NoError(t, err)
	assert.Equal(t, 1000*time.Hour, got)
	assert.Less(t, time.Since(began), time.Hour)

	_, err = virtual.Play[time.Duration](t.Context(), "long")
	require.ErrorContains(t, err, "not a duration: long")
}
