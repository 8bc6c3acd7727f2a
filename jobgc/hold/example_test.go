// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold_test

import (
	"context"
	"fmt"
	"time"

	"github.com/proompteng/controllerkit/jobgc/hold"
)

// The sweep releases a Job whose run is gone, and no other.
func ExampleSweeper_Sweep() {
	ctx, cluster := context.Background(), &cluster{} // metadata.NewForConfig(config)
	cluster.owner("run-1")
	cluster.job("job-1", "run-1")
	cluster.job("job-2", "run-2")
	sweeper, err := hold.New(cluster.jobsIn, cluster.ownersIn, "agents.example.com/result", hold.Options{
		OnSweep: func(held int, oldest time.Duration) { fmt.Println("held:", held, "alert:", oldest > 24*time.Hour) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := sweeper.Sweep(ctx) // Start sweeps immediately, then every hour
	fmt.Println("released:", report.Released, err)
	// Output:
	// held: 1 alert: true
	// released: 1 <nil>
}

// The uninstall step leaves no finalizer that could block the deletion of a
// namespace.
func ExampleSweeper_ReleaseAll() {
	ctx, cluster := context.Background(), &cluster{}
	cluster.owner("run-1")
	cluster.job("job-1", "run-1")
	sweeper, _ := hold.New(cluster.jobsIn, cluster.ownersIn, "agents.example.com/result", hold.Options{})
	report, err := sweeper.ReleaseAll(ctx)
	fmt.Println(report.Released, report.Held, err)
	// Output: 1 0 <nil>
}

// A controller that finds a held Job without its run does not have to wait for
// the sweep.
func ExampleSweeper_ReleaseOrphan() {
	ctx, cluster := context.Background(), &cluster{}
	cluster.job("job-1", "run-1")
	sweeper, _ := hold.New(cluster.jobsIn, cluster.ownersIn, "agents.example.com/result", hold.Options{})
	job := cluster.jobs[0].DeepCopy() // from the informer
	err := sweeper.ReleaseOrphan(ctx, job)
	fmt.Println(cluster.stillHeld(), err)
	// Output: [] <nil>
}
