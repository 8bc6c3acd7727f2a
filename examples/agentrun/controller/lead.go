// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Ready reports whether a replica that leads has filled all caches, and whether
// one that waits for the leadership may list what it would cache.
func (c *Controller) Ready() bool {
	if !c.leads.Load() {
		return c.mayList.Load()
	}
	for _, s := range c.scopes {
		if !s.runs.HasSynced() || !s.jobs.HasSynced() {
			return false
		}
	}
	return true
}

// Start fills the caches and reconciles while this replica leads. A namespace
// whose cache cannot be filled delays no other. When ctx or the leadership ends
// it finishes the running reconciles, with caches that no longer change, writes
// the queued Events, and returns. An informer that waits to try again may end
// up to a minute later.
//
// The caches are filled no earlier, because a standby would decode and keep all
// that its leader does.
func (c *Controller) Start(ctx context.Context) error {
	defer waitFor(&c.started, 100*time.Millisecond) // after the Events, because it may be in vain
	return c.recorder.RunWith(ctx, func(ctx context.Context) error {
		ctx, end := context.WithCancel(ctx)
		defer end()
		fillAndLead := func(leading, holding context.Context) {
			c.leads.Store(true)
			for _, s := range c.scopes {
				c.started.Go(func() { s.runs.RunWithContext(ctx) })
				c.started.Go(func() { s.jobs.RunWithContext(ctx) })
			}
			c.lead(leading, holding)
		}
		if c.options.Lead == nil {
			fillAndLead(ctx, context.WithoutCancel(ctx))
			return nil
		}
		c.started.Go(func() { c.checkLists(ctx) })
		return c.options.Lead(ctx, fillAndLead)
	})
}

// waitFor waits for goroutines, but not long. While an informer waits to try
// again, client-go's Reflector does not look at its context. The kubelet kills
// the process after half a minute.
func waitFor(started *sync.WaitGroup, limit time.Duration) {
	ended := make(chan struct{})
	go func() {
		started.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(limit):
	}
}

// checkLists waits until this replica may list what it would cache, or leads.
// It logs what it may not list.
func (c *Controller) checkLists(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	checked := func(ctx context.Context) (bool, error) {
		err := c.list(ctx)
		c.mayList.Store(err == nil)
		done := err == nil || c.leads.Load()
		if !done && ctx.Err() == nil {
			log.Error(err, "Not ready to lead, a list failed")
		}
		return done, nil
	}
	_ = wait.PollUntilContextCancel(ctx, 5*time.Second, true, checked)
}

// list lists one run and one Job in each scope.
func (c *Controller) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	runs := metav1.ListOptions{LabelSelector: c.options.Selector, Limit: 1}
	jobs := metav1.ListOptions{LabelSelector: runLabel, Limit: 1}
	var failed []error
	for _, s := range c.scopes {
		_, err1 := c.runs(s.namespace).List(ctx, runs)
		_, err2 := c.cluster.BatchV1().Jobs(s.namespace).List(ctx, jobs)
		failed = append(failed, err1, err2)
	}
	return errors.Join(failed...)
}

// lead reconciles until leading ends. Running reconciles then have a grace
// period, and lead cancels their requests at its end. If holding ends, their
// requests are cancelled immediately.
func (c *Controller) lead(leading, holding context.Context) {
	log := logr.FromContextOrDiscard(leading)
	// A reconcile that runs when leading ends still sends requests.
	working, stop := context.WithCancel(holding)
	defer stop()
	log.Info("Reconciling", append(c.options.Retention.LogValues(),
		"warnings", c.options.Retention.Warnings(nil),
		"workers", c.options.Workers,
		"namespaces", c.options.Namespaces,
	)...)
	var workers sync.WaitGroup
	for range c.options.Workers {
		workers.Go(func() { c.work(leading, working) })
	}
	for _, s := range c.scopes {
		workers.Go(func() {
			if !c.follow(leading, s) {
				return
			}
			workers.Go(func() { _ = s.expired.Start(leading) }) // ends with leading
			if c.options.Hold {
				_ = s.holds.Start(leading)
			}
		})
	}
	<-leading.Done()
	defer time.AfterFunc(finishTimeout, stop).Stop()
	c.queue.ShutDown()
	workers.Wait()
}
