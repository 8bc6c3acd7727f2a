// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/proompteng/controllerkit/metrics/catalog"

// MaxSeries is the most Prometheus series that this set can expose after n
// different controller names. It holds for every recorded value. Use it in a
// test of a scrape, or for the sampleLimit of a ServiceMonitor, where the
// endpoint's own series come on top: target_info, promhttp, process and go. A
// view that adds buckets adds series.
// Below 0 n counts as 0. On a nil Metrics it is 0.
func (m *Metrics) MaxSeries(n int) int {
	if m == nil {
		return 0
	}
	const (
		states = maxLeases + maxCaches + maxObjects + 1
		class  = maxRequests + maxFolded + 1
		runs   = resultCount + 2 + 3     // ended, active, missing; the retention settings
		plain  = resultCount + 1 + 1 + 9 // ended, active, workers; the queue
	)
	words := func(known []string) int { return len(known) + 1 }
	// sets counts bounds, +Inf, sum and count.
	sets := func(i catalog.Instrument) int { return len(i.Buckets) + 3 }
	t := catalog.Instruments()
	controllers := min(max(0, n), m.limit+1)
	controller := plain + runs +
		words(eventWords()) + words(writeWords()) +
		sets(t.QueueWait) + sets(t.StatusWriteDuration) +
		resultCount*(sets(t.ReconcileDuration)+sets(t.RunDuration))
	client := words(codeWords()) +
		class*sets(t.ClientRequestDuration) +
		sets(t.ClientLimiterWait)
	return controllers*controller + states + len(boundedLabels()) + client
}
