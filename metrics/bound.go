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
// recorded: a bound for the sampleLimit of a ServiceMonitor, and for a test to hold a scrape against. The endpoint's own
// series (target_info, promhttp) come on top. Below 0 n counts as 0. On a nil Metrics it is 0.
func (m *Metrics) MaxSeries(n int) int {
	if m == nil {
		return 0
	}
	const (
		counts = 2*resultCount + fateCount + writeCount + 3 // reconciles, runs, events, writes; running, active runs, missing
		gauges = 4                                          // workers, Job TTL, run and log retention
		queue  = 7
		states = maxLeases + maxObjects + 1 + overflowCount
		class  = maxRequests + maxFolded + 1
	)
	b := m.buckets
	controller := counts + gauges + queue + resultCount*(b.reconcile+b.run) + b.wait + b.write
	return min(max(0, n), m.limit+1)*controller + states + class*b.request + b.limiter
}
