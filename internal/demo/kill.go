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

// killed is what the demo knows of the controller process that it killed.
type killed struct {
	inFlight int           // runs that had not ended
	down     time.Duration // until the next process was ready
}

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
			p.killed.inFlight++
		}
	}
	p.stage.Say(fmt.Sprintf("killed the controller while %d runs were in flight", p.killed.inFlight))
	if p.controller, err = p.start(ctx); err != nil {
		return err
	}
	p.killed.down = time.Since(began)
	p.stage.Say(fmt.Sprintf("started it again; it was ready after %.1fs", p.killed.down.Seconds()))
	return nil
}
