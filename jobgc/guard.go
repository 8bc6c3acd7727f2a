// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// jobClient is what a Guard uses of a Job client of one namespace.
// Clientset.BatchV1().Jobs(ns) satisfies it. Reads must be live: with a client
// that reads from a slow cache, existing Jobs appear missing.
type jobClient interface {
	Create(ctx context.Context, job *batchv1.Job, opts metav1.CreateOptions) (*batchv1.Job, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*batchv1.Job, error)
	List(ctx context.Context, opts metav1.ListOptions) (*batchv1.JobList, error)
	Patch(
		ctx context.Context, name string, pt types.PatchType, data []byte,
		opts metav1.PatchOptions, subresources ...string,
	) (*batchv1.Job, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Cached reads Jobs from the cache of an informer, without a request. FromCache
// and FromLister make one.
type Cached interface {
	// Get returns a NotFound error if the cache has no such Job.
	Get(ctx context.Context, namespace, name string) (*batchv1.Job, error)

	// List returns all Jobs of the cache.
	List(ctx context.Context) ([]*batchv1.Job, error)
}

// FromLister returns a Cached that reads from a lister of client-go, such as
// factory.Batch().V1().Jobs().Lister(). The type argument is inferred.
//
//nolint:ireturn // the caller's type decides
func FromLister[L interface {
	Get(name string) (*batchv1.Job, error)
	List(selector labels.Selector) ([]*batchv1.Job, error)
}](lister interface{ Jobs(namespace string) L },
) Cached {
	if isnil.Is(lister) {
		return (*fromLister[L])(nil) // which New refuses
	}
	return &fromLister[L]{lister}
}

type fromLister[L interface {
	Get(name string) (*batchv1.Job, error)
	List(selector labels.Selector) ([]*batchv1.Job, error)
}] struct {
	lister interface{ Jobs(namespace string) L }
}

func (c *fromLister[L]) Get(_ context.Context, namespace, name string) (*batchv1.Job, error) {
	return c.lister.Jobs(namespace).Get(name)
}

func (c *fromLister[L]) List(context.Context) ([]*batchv1.Job, error) {
	return c.lister.Jobs(metav1.NamespaceAll).List(labels.Everything())
}

// cacheOf is what FromCache needs of controller-runtime's cache.
type cacheOf[O, G, L, S any] interface {
	Get(ctx context.Context, key types.NamespacedName, into O, opts ...G) error
	List(ctx context.Context, into L, opts ...S) error
}

// FromCache returns a Cached that reads from controller-runtime's cache, such as
// mgr.GetCache(). The type arguments are inferred.
//
//nolint:ireturn // the caller's type decides
func FromCache[O, G, L, S any](reader cacheOf[O, G, L, S]) Cached {
	if isnil.Is(reader) {
		return (*fromCache[O, G, L, S])(nil) // which New refuses
	}
	return &fromCache[O, G, L, S]{reader}
}

type fromCache[O, G, L, S any] struct{ reader cacheOf[O, G, L, S] }

func (c *fromCache[O, G, L, S]) Get(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	job := new(batchv1.Job)
	into, ok := any(job).(O)
	if !ok {
		return nil, fmt.Errorf("%T reads no Jobs; pass the cache of a manager", c.reader)
	}
	err := c.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, into)
	return job, err
}

func (c *fromCache[O, G, L, S]) List(ctx context.Context) ([]*batchv1.Job, error) {
	list := new(batchv1.JobList)
	into, ok := any(list).(L)
	if !ok {
		return nil, fmt.Errorf("%T lists no Jobs; pass the cache of a manager", c.reader)
	}
	err := c.reader.List(ctx, into)
	if err != nil {
		return nil, err
	}
	var jobs []*batchv1.Job
	for i := range list.Items {
		jobs = append(jobs, &list.Items[i])
	}
	return jobs, nil
}

// Options of a Guard. The zero value is what most controllers want.
type Options struct {
	// Retention of the Jobs. Zero keeps them until their owner is deleted.
	Retention Retention

	// Finalizer is the name of a custom finalizer, such as
	// agents.example.com/result. New Jobs get it, and the release removes it.
	// Such a Job outlives every deletion until its outcome is recorded. Its
	// pods may not: a Job that is deleted while it runs is Lost. Run
	// SweepOrphans with it: without that, a Job whose owner is gone keeps its
	// pods, and its namespace stays Terminating. Zero means no finalizer.
	Finalizer string

	_ struct{}
}

// Guard manages the Jobs of one controller. Make it with New: the methods of a
// nil or zero Guard return an error. It is safe for concurrent use, and must
// not be copied. To save requests, it remembers for ten seconds the Refs and
// the releases that a cache may not show yet, and the owners of the Jobs of
// each namespace that it listed, at most 4096 of each.
type Guard struct {
	client func(namespace string) jobClient
	cached Cached // nil without an informer
	opts   Options
	began  func() time.Time // when the first Step was

	refs     recent[types.UID, Ref]                 // by owner, of the Jobs that this Guard created
	released recent[types.UID, struct{}]            // by Job
	owned    recent[string, map[types.UID][]string] // by namespace: the names of the Jobs of each owner

	mu    sync.Mutex
	turns map[string]chan struct{} // by namespace, of those whose owners may be older than this process
}

// New returns a Guard. The function client returns the Job client of a
// namespace. The method value clientset.BatchV1().Jobs is one. Its reads must
// be live. Cached reads from an informer of Jobs:
//
//	cached := jobgc.FromLister(factory.Batch().V1().Jobs().Lister()) // or FromCache
//	guard, err := jobgc.New(clientset.BatchV1().Jobs, cached, jobgc.Options{})
//
// The cache must hold each Job that Step creates, with its metadata. Start the
// workers after it has synced: before that, Step sends more requests, and
// nothing else changes. If cached is nil, Step reads each Job live, and asks to
// look again every ten seconds at a Job that has not finished.
//
// It is an error if client is nil, if the retention is out of range, or if
// Options.Finalizer is not a finalizer name with a domain, or has no cache. New
// reports all of these problems. A SucceededTTL or FailedTTL below 90 seconds
// is accepted, although work can then run twice: log Retention.Warnings when
// you start.
func New[J jobClient](client func(namespace string) J, cached Cached, opts Options) (*Guard, error) {
	var errs []error
	for _, err := range opts.Retention.check() {
		errs = append(errs, fmt.Errorf("jobgc: new: Options.%w", err))
	}
	if opts.Finalizer != "" && !isFinalizer(opts.Finalizer) {
		errs = append(errs, fmt.Errorf("jobgc: new: Options.Finalizer: %q is not accepted; want a domain "+
			"and a name, such as agents.example.com/result", opts.Finalizer))
	}
	if client == nil {
		errs = append(errs, errors.New("jobgc: new: client is nil; want a function that returns the Job "+
			"client of a namespace"))
	}
	if cached != nil && isnil.Is(cached) {
		errs = append(errs, errors.New("jobgc: new: cached holds a nil pointer; want FromCache or "+
			"FromLister of an informer, or nil to read live"))
	}
	if cached == nil && opts.Finalizer != "" {
		errs = append(errs, errors.New("jobgc: new: Options.Finalizer is set, and cached is nil; "+
			"SweepOrphans needs a cache to find the Jobs that are held"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Guard{
		client: func(namespace string) jobClient { return client(namespace) },
		cached: cached,
		opts:   opts,
		began:  sync.OnceValue(time.Now),
		turns:  map[string]chan struct{}{},
	}, nil
}

// isFinalizer reports whether the API server accepts a name in
// metadata.finalizers (ValidateFinalizerName in
// k8s.io/kubernetes/pkg/apis/core/validation). The finalizers of Kubernetes
// itself, which have no domain, are refused.
func isFinalizer(name string) bool {
	return len(validation.IsQualifiedName(name)) == 0 && strings.Contains(name, "/")
}

func errNotMade() error {
	return errors.New("jobgc: the Guard is nil or empty; make it with New")
}

// jobsIn returns the client of a namespace.
func (g *Guard) jobsIn(namespace string) (jobClient, error) { //nolint:ireturn // the caller's type
	jobs := g.client(namespace)
	if isnil.Is(jobs) {
		return nil, fmt.Errorf("the client of namespace %s is nil; return one, such as "+
			"clientset.BatchV1().Jobs(namespace)", namespace)
	}
	return jobs, nil
}

// inCache returns the Job that the cache has under a name; nil if it has none.
func (g *Guard) inCache(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	if g.cached == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	job, err := g.cached.Get(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("the cached read of the Job %s/%s: %w", namespace, name, err)
	}
	if job == nil {
		return nil, fmt.Errorf("the cached read of the Job %s/%s returned neither a Job nor an error",
			namespace, name)
	}
	if job.Namespace != namespace || job.Name != name || job.UID == "" {
		return nil, fmt.Errorf("the cached read of the Job %s/%s returned %s/%s with the uid %q, want this "+
			"name and a uid", namespace, name, job.Namespace, job.Name, job.UID)
	}
	return job, nil
}

// inServer reads a Job from the API server; nil if it has none.
func (g *Guard) inServer(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	jobs, err := g.jobsIn(namespace)
	if err != nil {
		return nil, err
	}
	return getJob(ctx, jobs, Ref{Namespace: namespace, Name: name})
}
