// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/jobgc/expire"
)

func TestSweep_WithoutAClientIsAnError(t *testing.T) {
	c := newCluster(ran("a", 2*time.Hour))
	for name, client := range map[string]func(string) expire.Runs{
		"Nil":     func(string) expire.Runs { return nil },
		"Pointer": func(string) expire.Runs { return (*cluster)(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := expire.New(client, func() []any { return c.store }, finished, answeredAt(start), expire.Options{TTL: time.Hour})
			require.NoError(t, err)
			deleted, err := s.Sweep(t.Context(), start)
			require.EqualError(t, err, `jobgc/expire: ns/a: the client of namespace "ns" is nil; return a client that can delete runs`)
			assert.Zero(t, deleted)
		})
	}
}

func TestSweep_StopsWhenItsContextEnds(t *testing.T) {
	c := newCluster(ran("a", 2*time.Hour), ran("b", 2*time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	c.refuse = func(string) error {
		cancel()
		return nil
	}
	s, err := expire.New(func(string) *cluster { return c }, func() []any { return c.store }, finished, answeredAt(start), expire.Options{TTL: time.Hour})
	require.NoError(t, err)
	deleted, err := s.Sweep(ctx, start)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, deleted)
}
