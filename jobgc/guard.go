// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/jobgc/internal/finalizer"
)

// jobClient is what a Guard uses of a Job client of one namespace.
// Clientset.BatchV1().Jobs(ns) satisfies it. Reads must be live: with a client
// that reads from a slow cache, existing Jobs appear missing.
type jobClient interface {
	Create(ctx context.Context, job *batchv1.Job, opts metav1.CreateOptions) (*batchv1.Job, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*batchv1.Job, error)
	Patch(
		ctx context.Context, name string, pt types.PatchType, data []byte,
		opts metav1.PatchOptions, subresources ...string,
	) (*batchv1.Job, error)
}

// Cached reads a Job from the cache of an informer. It returns a NotFound error
// if the cache has no such Job, and must make no request.
type Cached func(ctx context.Context, namespace, name string) (*batchv1.Job, error)

// CachedBy returns a Cached that reads from controller-runtime's cache, such as
// mgr.GetCache(). The type arguments are inferred.
func CachedBy[O, G any](reader interface {
	Get(ctx context.Context, key types.NamespacedName, into O, opts ...G) error
},
) Cached {
	return func(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
		job := new(batchv1.Job)
		into, ok := any(job).(O)
		if !ok {
			return nil, fmt.Errorf("%T reads no Jobs; pass the cache of a manager", reader)
		}
		err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, into)
		return job, err
	}
}

// Options of a Guard. The zero value is what most controllers want.
type Options struct {
	// Retention of the Jobs. Zero keeps them until their owner is deleted.
	Retention Retention

	// DeleteCancelled deletes the Job of a cancelled run once the cancellation
	// is recorded. It needs the verb delete. Zero leaves such a Job suspended
	// until its owner is deleted.
	DeleteCancelled bool

	// Finalizer is the name of a custom finalizer, such as
	// agents.example.com/result. New Jobs get it, and the release removes it.
	// Such a Job outlives every deletion until its outcome is recorded. Its
	// pods may not, and a Job that is deleted while it runs has no outcome. A
	// Job that is never released stays, and so does its namespace: package hold
	// lists the further duties of such a controller. Zero means no finalizer.
	// The delete event of a Job that is deleted before its result is read then
	// has the result, or the Job is reported as lost.
	Finalizer string

	_ struct{}
}

// Guard manages the Jobs of one controller. Make it with New or NewUncached:
// the methods of a nil Guard, or of one that neither made, return an error. It
// is safe for concurrent use, holds no goroutine, and must not be copied. It
// remembers the last 4096 Jobs that it has created, adopted or seen deleted.
type Guard struct {
	client func(namespace string) jobClient
	cached Cached      // nil without an informer
	synced func() bool // whether the handler has received all Jobs of the first list
	opts   Options
	now    func() time.Time
	short  []string    // the settings that let work run twice, for the log
	logged atomic.Bool // whether short was logged
	memory *memory

	mu      sync.Mutex
	others  map[types.UID]others // by owner, unfinished Jobs that Step has not created
	refused ring[types.UID, types.NamespacedName]
	waiting time.Time // since when calls wait for the informer; zero if none has
	warned  time.Time // when a Job was last taken over unchanged
}

// New returns a Guard. The function client returns the Job client of a
// namespace. The method value clientset.BatchV1().Jobs is one. A client needs
// Create, Get and Patch, and Delete with Options.DeleteCancelled. Its reads
// must be live.
//
// The informer watches Jobs, and cached reads from its cache:
//
//	jobs := factory.Batch().V1().Jobs() // an informer factory of client-go
//	cached := func(_ context.Context, namespace, name string) (*batchv1.Job, error) {
//		return jobs.Lister().Jobs(namespace).Get(name)
//	}
//	guard, err := jobgc.New(clientset.BatchV1().Jobs, cached, jobs.Informer(), jobgc.Options{})
//
// With controller-runtime, the manager's cache has both, and a clientset makes
// the live reads. The reconciler keeps the Guard in a field of the type
// *jobgc.Guard:
//
//	clientset, err := kubernetes.NewForConfig(mgr.GetConfig())
//	informer, err := mgr.GetCache().GetInformer(ctx, new(batchv1.Job))
//	cached := jobgc.CachedBy(mgr.GetCache())
//	guard, err := jobgc.New(clientset.BatchV1().Jobs, cached, informer, jobgc.Options{})
//	reconciler := &TaskReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Jobs: guard}
//
// New registers an event handler, so that the results of Jobs that are deleted
// before they are read are still found. Step returns Pending until the handler
// has received the first list, and an error after a minute of that. The cache
// may lack Jobs, because of a selector: from ten seconds after it has first
// returned a Ref, Step reads such a Job live in each call, until the Ref says
// that it is released. The cache may lack parts of Jobs, because of a
// transform: Step then reads a Job live before it releases it.
//
// It is an error if an argument is nil, if the informer takes no event handler
// of client-go, if the retention is out of range, or if Options.Finalizer is
// not a finalizer name with a domain. New reports all of these problems, and
// then registers nothing. New also returns the error of AddEventHandler.
//
// A SucceededTTL or FailedTTL below 90 seconds is accepted, although work can
// then run twice. Retention.Warnings lists it. New has no logger: the first
// Step whose context has one logs it, once.
func New[J jobClient, H any, R interface{ HasSynced() bool }](
	client func(namespace string) J, cached Cached,
	informer interface{ AddEventHandler(handler H) (R, error) }, opts Options,
) (*Guard, error) {
	g := newGuard(client, opts)
	errs := check(client == nil, opts)
	if cached == nil {
		errs = append(errs, errors.New("jobgc: new: cached is nil; want a function that reads a Job from "+
			"the informer's cache, or use NewUncached"))
	}
	if isnil.Is(informer) {
		errs = append(errs, errors.New("jobgc: new: informer is nil; want an informer of Jobs, or use "+
			"NewUncached"))
	}
	takes, ok := any(handler{g}).(H)
	if !ok {
		errs = append(errs, fmt.Errorf("jobgc: new: informer: %T takes no cache.ResourceEventHandler; want "+
			"an informer of client-go or controller-runtime", informer))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	g.cached = cached
	registration, err := informer.AddEventHandler(takes)
	if err != nil {
		return nil, fmt.Errorf("jobgc: new: add an event handler to the informer: %w", err)
	}
	g.synced = registration.HasSynced
	return g, nil
}

// NewUncached returns a Guard for a controller that does not watch Jobs. It
// reads each Job live, and asks to look again every 10 seconds at a Job that
// has not finished. A run that has ended costs no request once its Ref says
// that its Job is released. Such a Guard does not see Jobs of an earlier
// version of the controller, see Request.Name. The arguments are those of New.
func NewUncached[J jobClient](client func(namespace string) J, opts Options) (*Guard, error) {
	errs := check(client == nil, opts)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return newGuard(client, opts), nil
}

func newGuard[J jobClient](client func(namespace string) J, opts Options) *Guard {
	g := &Guard{
		client: func(namespace string) jobClient { return client(namespace) },
		synced: func() bool { return true },
		opts:   opts,
		now:    time.Now,
		short:  opts.Retention.freesNames(),
		memory: newMemory(maxRemembered),
		others: map[types.UID]others{},
	}
	g.refused.limit = maxRemembered
	return g
}

// check returns an error for each argument of New that it refuses.
func check(noClient bool, o Options) []error {
	var errs []error
	for _, err := range o.Retention.check() {
		errs = append(errs, fmt.Errorf("jobgc: new: Options.%w", err))
	}
	if o.Finalizer != "" && !finalizer.IsName(o.Finalizer) {
		errs = append(errs, fmt.Errorf("jobgc: new: Options.Finalizer: %q is not accepted; want a domain "+
			"and a name, such as agents.example.com/result", o.Finalizer))
	}
	if noClient {
		errs = append(errs, errors.New("jobgc: new: client is nil; want a function that returns the Job "+
			"client of a namespace"))
	}
	return errs
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
	if g.cached == nil || namespace == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	job, err := g.cached(ctx, namespace, name)
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
	asked := types.NamespacedName{Namespace: namespace, Name: name}
	if nameOf(job) != asked || job.UID == "" {
		return nil, fmt.Errorf("the cached read of the Job %s/%s returned %s/%s with the uid %q, want this "+
			"name and a uid", namespace, name, job.Namespace, job.Name, job.UID)
	}
	return job, nil
}

// syncTimeout is how long calls wait for the first list of the informer without
// an error.
const syncTimeout = time.Minute

// unsynced reports whether the handler has not received all Jobs that the
// informer first listed.
func (g *Guard) unsynced() (bool, error) {
	if g.synced() {
		return false, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting.IsZero() {
		g.waiting = g.now()
	}
	if g.now().Sub(g.waiting) < syncTimeout {
		return true, nil
	}
	return true, fmt.Errorf("the informer of Jobs has not synced for %s: start it, and let the controller "+
		"list and watch Jobs", syncTimeout)
}

// warn logs once which settings let work run twice.
func (g *Guard) warn(ctx context.Context) {
	if len(g.short) == 0 || g.logged.Load() {
		return
	}
	log, err := logr.FromContext(ctx)
	if err == nil && g.logged.CompareAndSwap(false, true) {
		log.WithName("jobgc").Info("A Job TTL is too short", "warnings", g.short)
	}
}

// warnUnchanged logs, at most once a minute, that a Job is taken over without
// what Step gives to each Job.
func (g *Guard) warnUnchanged(ctx context.Context, job Ref, refusal error) {
	log, err := logr.FromContext(ctx)
	if err != nil || !g.mayWarn() {
		return
	}
	const message = "The API server refuses a patch of a Job that is taken over: its TTL and finalizers stay"
	log.WithName("jobgc").Error(refusal, message, "namespace", job.Namespace, "name", job.Name)
}

// mayWarn reports whether the last warning is a minute old.
func (g *Guard) mayWarn() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if now.Sub(g.warned) < time.Minute {
		return false
	}
	g.warned = now
	return true
}

func (g *Guard) made() bool { return g != nil && g.client != nil }

func errNotMade() error {
	return errors.New("jobgc: the Guard is nil or empty; make it with New or NewUncached")
}
