// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observability runs a load on the example. Tests check that the
// dashboard and the rules have values on a real Prometheus, and a command draws
// them.
package observability

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// Job is the value of the label job of all scraped series.
const Job = "agentrun"

// Load plays the samples once and creates runs with a pause in between until
// ctx ends. Most succeed, and every kind of failure repeats. It returns the
// error that stopped it.
func Load(ctx context.Context, stage *play.Stage, pause time.Duration) error {
	all, err := play.Load()
	if err != nil {
		return err
	}
	for _, s := range all {
		if err := s.Create(ctx, stage); err != nil {
			return unlessDone(ctx, err)
		}
	}
	for i := 0; ctx.Err() == nil; i++ {
		if _, err := stage.Runs.Create(ctx, run(i), metav1.CreateOptions{}); err != nil {
			return unlessDone(ctx, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the load has ended as planned
	}
	return err
}

// run returns the i-th run of the load.
func run(i int) *v1alpha1.AgentRun {
	r := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("load-%05d", i)}}
	r.Spec.Image = "busybox:1.37"
	r.Spec.PodAnnotations = map[string]string{"controlplane.controllerkit.dev/delay": fmt.Sprintf("%dms", 100+37*i%900)}
	switch i % 8 {
	case 3:
		r.Spec.PodAnnotations["controlplane.controllerkit.dev/outcome"] = "fail"
	case 5: // each of its reconciles fails
		r.Spec.SecretRef = &v1alpha1.SecretRef{Name: "never", Key: "token"}
	case 7:
		r.Spec.Parameters = map[string]string{"prompt": "refused"}
	}
	return r
}
