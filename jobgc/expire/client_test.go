// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc/expire"
)

// The types below have the shape of controller-runtime's client package.
// examples/agentrun runs with the real one.

type clientObject interface{ metav1.Object }

type clientDeleteOptions struct{ preconditions *metav1.Preconditions }

func (o *clientDeleteOptions) ApplyToDelete(to *clientDeleteOptions) { *to = *o }

type clientDeleteOption interface {
	ApplyToDelete(o *clientDeleteOptions)
}

// runtimeClient deletes from a cluster.
type runtimeClient struct{ *cluster }

func (c runtimeClient) Delete(ctx context.Context, obj clientObject, opts ...clientDeleteOption) error {
	var o clientDeleteOptions
	for _, opt := range opts {
		opt.ApplyToDelete(&o)
	}
	background := metav1.DeletePropagationBackground
	return c.cluster.Delete(ctx, obj.GetNamespace()+"/"+obj.GetName(),
		metav1.DeleteOptions{Preconditions: o.preconditions, PropagationPolicy: &background})
}

func clientOption(o metav1.DeleteOptions) clientDeleteOption {
	return &clientDeleteOptions{o.Preconditions}
}

// TestForClient_DeletesOnlyWhatWasRead: the uid and the version reach the
// client.
func TestForClient_DeletesOnlyWhatWasRead(t *testing.T) {
	for name, change := range map[string]func(*run){
		"As read":   nil,
		"Edited":    func(r *run) { r.ResourceVersion = "8" },
		"Recreated": func(r *run) { r.UID = "successor" },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(ran("a", 2*time.Hour))
			c.live = map[string]*run{"ns/a": c.live["a"]}
			if change != nil {
				change(c.live["ns/a"])
			}
			sweeper, err := expire.ForClient(runtimeClient{c}, clientOption, c.list, finished, answeredAt(start), expire.Options{TTL: time.Hour})
			require.NoError(t, err)
			_, err = sweeper.Sweep(t.Context(), start)
			if change == nil {
				require.NoError(t, err)
			}
			assert.Equal(t, []string{"ns/a"}, c.asked)
			assert.Equal(t, change != nil, c.live["ns/a"] != nil)
		})
	}
}

// otherClient does not delete runs.
type otherClient struct{}

func (otherClient) Delete(context.Context, interface{ Rides() }, ...clientDeleteOption) error {
	return nil
}

func TestForClient_ReportsBadInput(t *testing.T) {
	c := newCluster()
	_, err := expire.ForClient(otherClient{}, clientOption, c.list, finished, answeredAt(start), expire.Options{})
	require.EqualError(t, err, "jobgc/expire: new: client: it does not delete a *expire_test.run")
	var none func(metav1.DeleteOptions) clientDeleteOption
	_, err = expire.ForClient(runtimeClient{c}, none, c.list, finished, nil, expire.Options{})
	require.ErrorContains(t, err, "jobgc/expire: new: option is nil; want a function that returns the preconditions as an option of the client")
	require.ErrorContains(t, err, "jobgc/expire: new: server is nil")
}

// A manager's client deletes a run whose retention is over.
func ExampleForClient() {
	c := newCluster(ran("a", 2*time.Hour)) // the manager's cache
	c.live = map[string]*run{"ns/a": c.live["a"]}
	server := answeredAt(start) // its Wrap is in the rest.Config
	sweeper, err := expire.ForClient(runtimeClient{c}, clientOption, c.list, finished, server, expire.Options{TTL: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	deleted, err := sweeper.Sweep(context.Background(), start)
	fmt.Println(deleted, err)
	// Output: 1 <nil>
}
