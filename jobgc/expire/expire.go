// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Runs deletes runs of one namespace. A typed client of client-go satisfies it.
// With controller-runtime's client, pass on the preconditions:
//
//	func (r runs) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
//		run := &v1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
//		return r.Client.Delete(ctx, run, &client.DeleteOptions{
//			Preconditions: o.Preconditions, PropagationPolicy: o.PropagationPolicy,
//		})
//	}
type Runs interface {
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Options of a Sweeper.
type Options struct {
	// TTL is how long a run is kept after it finished, if it has no
	// ttlSecondsAfterFinished. Zero keeps it. Other values are at least a
	// minute: a 30 that was meant as days is 30 seconds.
	TTL time.Duration

	// Interval is how long Start waits between two sweeps. Zero means a minute.
	Interval time.Duration

	_ struct{}
}

// RetainAnnotation keeps a run for good with 1, true, yes, y, on, keep or
// forever.
const RetainAnnotation = "agents.proompteng.ai/retain"

// mostDeletions is how many one sweep makes.
const mostDeletions = 100

// leastTTL is the shortest Options.TTL that is accepted.
const leastTTL = time.Minute

// Sweeper deletes runs. Make it with New: Start and Sweep of a nil or zero
// Sweeper return an error. These two must not be called concurrently; several
// replicas may each have a Sweeper. It is an event handler of the runs'
// informer: OnAdd, OnUpdate and OnDelete may be called at any time.
type Sweeper struct {
	client func(namespace string) Runs
	list   func() []any
	read   func(obj any) (run, bool) // false: obj is not a run
	server *ServerTime
	opts   Options
	most   int // deletions of a sweep

	sweeps int               // how many have tried a run
	tried  map[types.UID]int // the sweep that tried a run last

	mu      sync.Mutex
	follows bool      // the informer
	next    time.Time // the first run may be due then, if it follows; zero if none
}

// New returns a Sweeper and makes no request. The function client returns the
// client of a namespace. The function list is a store's List, such as
// informer.GetStore().List; items that are not an R are ignored. The function
// finished returns when a run finished, or zero if it has not, and the run's
// own ttlSecondsAfterFinished, or nil if it has none. The server wraps the
// rest.Config of the informer's client. A nil argument, a TTL between zero and
// a minute, and negative options are errors, and New reports all of them.
func New[R metav1.Object, C Runs](
	client func(namespace string) C, list func() []any,
	finished func(run R) (at time.Time, own *int32), server *ServerTime, opts Options,
) (*Sweeper, error) {
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("jobgc/expire: new: "+format, args...))
	}
	if client == nil {
		refuse("client is nil; want a function that returns the client of a namespace")
	}
	if list == nil {
		refuse("list is nil; want the List of a store")
	}
	if finished == nil {
		refuse("finished is nil; want a function that returns when a run finished")
	}
	if server == nil {
		refuse("server is nil; want a ServerTime whose Wrap the rest.Config of the client has")
	}
	if opts.TTL != 0 && opts.TTL < leastTTL {
		refuse("Options.TTL: %s is not accepted; want 0 to keep, or at least %s", opts.TTL, leastTTL)
	}
	if opts.Interval < 0 {
		refuse("Options.Interval: %s is not accepted; want a positive duration, or 0 for a minute",
			opts.Interval)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	opts.Interval = cmp.Or(opts.Interval, time.Minute)
	read := func(obj any) (run, bool) {
		object, ok := obj.(R)
		if !ok {
			return run{}, false
		}
		at, own := finished(object)
		return run{object, at, own}, true
	}
	clientOf := func(namespace string) Runs { return client(namespace) }
	return &Sweeper{
		client: clientOf, list: list, read: read, server: server, opts: opts, most: mostDeletions,
	}, nil
}

func (s *Sweeper) made() bool { return s != nil && s.client != nil }

func errNotMade() error {
	return errors.New("jobgc/expire: the Sweeper is nil or empty; make it with New")
}

// Start sweeps immediately and then every Options.Interval. When ctx ends it
// returns nil. Call it when the store is filled. Deletions and failures go to
// the context's logger.
func (s *Sweeper) Start(ctx context.Context) error {
	if !s.made() {
		return errNotMade()
	}
	log := logr.FromContextOrDiscard(ctx).WithName("expire")
	for {
		deleted, err := s.Sweep(ctx, time.Now())
		if deleted > 0 {
			log.Info("Deleted runs whose retention is over", "deleted", deleted)
		}
		if err != nil && ctx.Err() == nil {
			log.Error(err, "Could not delete some runs; the next sweep tries again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.opts.Interval):
		}
	}
}
