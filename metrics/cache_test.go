// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/metrics"
)

// Of the caches of one resource, such as one for each namespace, the greatest
// known age counts.
func TestObserveCache_ExportsTheGreatestAge(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	age := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
	m.ObserveCache("pods", age(5*time.Second))
	stop := m.ObserveCache("pods", age(7*time.Second))
	m.ObserveCache("pods", age(-1))
	m.ObserveCache("jobs", age(-1))
	m.ObserveCache("nodes", nil)
	m.ObserveCache("", age(0))
	m.ObserveCache("\xff", age(0))
	got := scrape(t, ep)
	assert.Equal(t, map[string]string{`controller_cache_age_seconds{resource="pods"}`: "7"}, with(got, "controller_cache"))
	assert.Equal(t, "2", got[`controller_label_overflows_total{label="resource"}`])
	for range 100 { // one for each namespace
		m.ObserveCache("jobs", age(-1))
	}
	assert.Equal(t, "2", scrape(t, ep)[`controller_label_overflows_total{label="resource"}`], "one resource has one series")
	stop()
	stop()
	assert.Equal(t, "5", scrape(t, ep)[`controller_cache_age_seconds{resource="pods"}`])
}
