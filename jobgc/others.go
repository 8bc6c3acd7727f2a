// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"fmt"

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
// all owners that ask in that time.
func (g *Guard) namesOf(ctx context.Context, namespace string, owner types.UID) ([]string, error) {
	turn := g.turnIn(namespace)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the list of the Jobs in %s: %w", namespace, ctx.Err())
	}
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

// turnIn returns what one call at a time holds while it lists a namespace.
func (g *Guard) turnIn(namespace string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	turn, ok := g.turns[namespace]
	if !ok {
		turn = make(chan struct{}, 1)
		g.turns[namespace] = turn
	}
	return turn
}
