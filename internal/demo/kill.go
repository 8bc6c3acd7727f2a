// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/demo/play"
)

// kill ends the controller with SIGKILL while runs are in flight, and starts
// it again.
func (p *place) kill(ctx context.Context) (err error) {
	err = p.count(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := p.controller.Kill(); err != nil {
		return err
	}
	runs, err := p.stage.Runs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range runs.Items {
		if !play.Terminal(&runs.Items[i]) {
			p.inFlight++
		}
	}
	p.stage.Say(fmt.Sprintf("killed the controller while %d runs were in flight", p.inFlight))
	if p.controller, err = p.start(ctx); err != nil {
		return err
	}
	p.down = time.Since(began)
	p.stage.Say(fmt.Sprintf("started it again; it was ready after %.1fs", p.down.Seconds()))
	return nil
}
