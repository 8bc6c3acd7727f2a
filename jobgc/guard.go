// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Jobs is what a Guard uses of a Job client of one namespace. Clientset.BatchV1().Jobs(ns) is one as it is. Reads must
// be live: a client that reads from a cache turns a slow cache into missing Jobs.
type Jobs interface {
	Create(ctx context.Context, job *batchv1.Job, opts metav1.CreateOptions) (*batchv1.Job, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*batchv1.Job, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*batchv1.Job, error)
}

// Options of a Guard. The zero value is what most controllers want.
type Options struct {
	// Retention that Ensure puts on new Jobs: its backstop TTL, and all of it as an annotation for people to read. Zero
	// means a backstop of 7 days and Jobs that stay until their owner is deleted.
	Retention Retention

	// Grace is how long after a creation a cache that lags behind makes a Job Pending without a live read, and up to a second
	// longer, for Ref.CreatedAt has whole seconds. Zero means 10 seconds; negative means none, so that every doubt costs a live
	// read. So does a Ref without ResourceVersion or CreatedAt, at once: nothing tells that the cache is behind it.
	Grace time.Duration

	// Trust lets the cache alone declare a Job lost, without the one live read that confirms it. Set it only if the
	// store holds every Job that the Guard is asked about: an informer with a selector does not. Zero confirms.
	Trust bool

	// Tombstones is how many finished Jobs that the informer saw deleted are remembered. Zero means 1024; negative none.
	Tombstones int

	// Hold is the name of a finalizer of yours, such as agents.example.com/result, that Ensure puts on new Jobs and Release
	// takes off. Such a Job outlives every deletion, by its TTL, by a template's TTL of 0, by a CronJob's history limits or
	// by a person, until its outcome is recorded; its pods and their logs do not. A Job that is held and never released
	// stays for ever, and its namespace with it: package hold says what else a controller then has to do. Zero means no
	// hold: a deletion that comes before the result is read is rescued by the delete event or reported.
	Hold string

	_ struct{}
}

// Guard answers for the Jobs of one controller. Make it with New; it is safe for concurrent use, holds no goroutine,
// and must not be copied.
//
// It is a cache.ResourceEventHandler: add it to the Job informer (informer.AddEventHandler(guard)), and results of
// Jobs that were deleted before they were read are still found, until the process ends.
type Guard[J Jobs] struct {
	client func(namespace string) J
	store  *store // nil without one
	opts   Options

	mu     sync.Mutex
	fed    bool                          // an informer calls the handlers, so that a deletion leaves a tombstone
	tombs  ring[types.UID, *batchv1.Job] // finished Jobs that were deleted
	absent ring[types.UID, time.Time]    // when a Job without a tombstone was first found gone
}

// New returns a Guard. The client gives the Job client of a namespace; the method value clientset.BatchV1().Jobs is
// one. The informer is one of Jobs, client-go's or what controller-runtime's cache returns for them, or its store: Look asks
// the store first, and its resource version proves absence without a request. Without one, nil or a nil pointer, every
// Look is a live read. New only takes the store: add the Guard to the informer's handlers too.
//
// It is an error if client is nil, if informer is neither an informer of one store nor a store, which is so for a manager
// that caches several namespaces, or if Options.Hold is no name that a finalizer of yours may have.
func New[J Jobs](client func(namespace string) J, informer any, opts Options) (*Guard[J], error) {
	if client == nil {
		return nil, errors.New("jobgc: new: the client is nil")
	}
	jobs, err := storeOf(informer)
	if err != nil {
		return nil, err
	}
	if err := checkHold(opts.Hold); err != nil {
		return nil, err
	}
	if opts.Grace == 0 {
		opts.Grace = 10 * time.Second
	}
	if opts.Tombstones == 0 {
		opts.Tombstones = 1024
	}
	g := &Guard[J]{client: client, store: jobs, opts: opts}
	g.tombs.limit, g.absent.limit = opts.Tombstones, opts.Tombstones
	return g, nil
}

// isNil reports whether v is nil or a nil pointer in an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
