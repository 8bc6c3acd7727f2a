// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// checkOthers returns an error for a Job that an earlier version of the
// controller created for this owner, under another name. It may do the same
// work. An earlier version has stopped when the first Step of this process
// begins.
func (c *call) checkOthers(ctx context.Context) error {
	created := c.req.Owner.GetCreationTimestamp()
	isNew := created.IsZero() || created.After(c.began().Add(clockDifference))
	if isNew || c.req.Name != "" {
		return nil
	}
	names, err := c.namesOf(ctx, c.ref.Namespace, c.req.Owner.GetUID())
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != c.ref.Name {
			return fmt.Errorf("Request.Owner controls the Job %s/%s, which Step has not created; to take it "+
				"over, set Request.Name to its name", c.ref.Namespace, name)
		}
	}
	return nil
}

// namesOf returns the names of the Jobs that an owner controls in a namespace.
// It lists them live, because a cache may lack some: once in ten seconds, for
// all owners that ask meanwhile.
func (g *Guard) namesOf(ctx context.Context, namespace string, owner types.UID) ([]string, error) {
	done, err := g.listing.take(ctx, namespace)
	if err != nil {
		return nil, fmt.Errorf("wait for the list of the Jobs in %s: %w", namespace, err)
	}
	defer done()
	names, ok := g.owned.get(namespace)
	if ok {
		return names[owner], nil
	}
	jobs, err := g.jobsIn(namespace)
	if err != nil {
		return nil, err
	}
	list, err := jobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Jobs in %s: %w", namespace, err)
	}
	names = map[types.UID][]string{}
	for _, job := range list.Items {
		controller := metav1.GetControllerOfNoCopy(&job)
		if controller != nil {
			names[controller.UID] = append(names[controller.UID], job.Name)
		}
	}
	g.owned.note(namespace, names)
	return names[owner], nil
}

// turns lets one caller at a time go on for each key.
type turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // closed when the turn ends
}

// take waits for a turn. Call done at its end.
func (t *turns) take(ctx context.Context, key string) (done func(), err error) {
	for ctx.Err() == nil {
		before := t.try(key)
		if before == nil {
			return func() { t.end(key) }, nil
		}
		select {
		case <-before:
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// try takes a turn that is free. Otherwise it returns the end of the turn
// before.
func (t *turns) try(key string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, ok := t.taken[key]
	if ok {
		return before
	}
	if t.taken == nil {
		t.taken = map[string]chan struct{}{}
	}
	t.taken[key] = make(chan struct{})
	return nil
}

func (t *turns) end(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.taken[key])
	delete(t.taken, key)
}
