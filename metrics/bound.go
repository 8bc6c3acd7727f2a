// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/proompteng/controllerkit/metrics/catalog"

// bucketCounts are the Prometheus series of one attribute set of each histogram: bounds, +Inf, sum and count.
type bucketCounts struct{ reconcile, wait, run, write, request, limiter int }

func countBuckets(t catalog.Table) bucketCounts {
	series := func(i catalog.Instrument) int { return len(i.Buckets) + 3 }
	return bucketCounts{
		reconcile: series(t.ReconcileDuration), wait: series(t.QueueWait), run: series(t.RunDuration),
		write: series(t.StatusWriteDuration), request: series(t.ClientRequestDuration), limiter: series(t.ClientLimiterWait),
	}
}

// MaxSeries is the most Prometheus series that this set can expose after n different controller names, whatever is
// recorded: a bound for sampleLimit of a ServiceMonitor, and for a test to hold a scrape against. The endpoint's own
// series (target_info, promhttp) come on top. Below 0 n counts as 0.
func (m *Metrics) MaxSeries(n int) int {
	if m == nil {
		return 0
	}
	b := m.buckets
	const counts = 2*resultCount + fateCount + writeCount + 3 // active, runs active, missing
	const gauges = 3                                          // workers, job TTL, run retention
	const queue = 7
	controller := counts + gauges + queue + resultCount*(b.reconcile+b.run) + b.wait + b.write
	// One more controller than the limit for "other", and one more pair and class for the same reason.
	set := maxLeases + maxObjects + 1 + overflowCount + (maxRequests+1)*b.request + b.limiter
	return min(max(0, n), m.limit+1)*controller + set
}
