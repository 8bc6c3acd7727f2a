// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"fmt"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// A query built from the row of its instrument.
func Example() {
	t := catalog.Instruments()
	fmt.Printf("sum(rate(%s[5m])) by (%s)\n", t.Reconciles.PrometheusName(), t.Reconciles.Attributes[1])
	// Output: sum(rate(controller_reconciles_total[5m])) by (result)
}

func ExampleInstrument_PrometheusName() {
	t := catalog.Instruments()
	for _, i := range []catalog.Instrument{t.RunDuration, t.Runs, t.RunActive, t.Leader} {
		fmt.Println(i.Name, i.PrometheusName())
	}
	// Output:
	// controller.run.duration controller_run_duration_seconds
	// controller.runs controller_runs_total
	// controller.run.active controller_run_active
	// controller.leader controller_leader
}

func ExampleTable_All() {
	for _, i := range catalog.Instruments().All() {
		if i.Kind == catalog.Histogram {
			fmt.Println(i.Name, i.Buckets[len(i.Buckets)-1])
		}
	}
	// Output:
	// controller.reconcile.duration 300
	// controller.queue.wait.duration 300
	// controller.run.duration 14400
	// controller.status_write.duration 60
	// controller.client.request.duration 60
	// controller.client.limiter.wait.duration 300
}

func ExampleInstruments() {
	i := catalog.Instruments().MissingJobs
	fmt.Println(i.Name, i.Unit, i.Attributes)
	fmt.Println(i.Description)
	// Output:
	// controller.missing_jobs {job} [controller]
	// Jobs that were gone before their result was read.
}

func ExampleKind_String() {
	fmt.Println(catalog.Instruments().QueueDepth.Kind)
	// Output: updowncounter
}
