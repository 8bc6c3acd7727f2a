// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	batchv1 "k8s.io/api/batch/v1"
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
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*batchv1.Job, error)
}

// Options of a Guard. The zero value is what most controllers want.
type Options struct {
	// Retention of the Jobs. Zero keeps them until their owner is deleted.
	Retention Retention

	// CacheLagTimeout is how long a new Job may be missing in the cache before
	// Step or Inspect reads it live. Until then it is Pending. Ref.CreatedAt
	// has whole seconds, so the wait may be a second longer. Zero means 10
	// seconds. Negative means that every doubt costs a live read immediately. A
	// Ref without ResourceVersion or CreatedAt always does. Within this time,
	// Step does not repeat a release that the cache does not show yet.
	CacheLagTimeout time.Duration

	// TrustCache lets the cache alone declare a Job Missing or Replaced,
	// without the one live read that confirms it. Set it only if the store
	// holds every Job that the Guard is asked about: an informer with a
	// selector does not. False makes the live read, except for a run that is
	// Done.
	TrustCache bool

	// Tombstones limits how many Jobs the Guard remembers of each kind: deleted
	// finished Jobs, Jobs whose Ref may not be written yet, releases that it
	// has sent, and Jobs that it found gone. Zero means 1024. Negative means
	// none: a Job that was deleted before it was read is then lost, or created
	// again if its Ref was not written, and a release is sent again while the
	// cache does not show it.
	Tombstones int

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

// Guard manages the Jobs of one controller. Make it with New: the methods of a
// nil Guard, or of one that New did not make, return an error. It is safe for
// concurrent use, holds no goroutine, and must not be copied.
type Guard[J jobClient] struct {
	client func(namespace string) J
	store  *store      // nil without one
	late   bool        // the caller's event handler may run before the Guard's, which fills the store
	synced func() bool // whether the Guard's handler has received all Jobs of the first list; nil without a handler
	listed func() bool // whether the informer has its first list; only with synced
	opts   Options
	now    func() time.Time
	short  []string    // the settings that let work run twice, for the log
	logged atomic.Bool // whether short was logged

	mu         sync.Mutex
	fed        bool                          // an informer calls the handlers, so that a deletion leaves a tombstone
	tombstones ring[types.UID, *batchv1.Job] // finished Jobs that were deleted
	released   ring[types.UID, release]      // when a Job was deleted that had been released
	absent     ring[types.UID, time.Time]    // when a Job without a tombstone was first found gone
	sent       ring[copied, time.Time]       // when a Job was released that the cache may still show as it was
	pasts      ring[types.UID, past]         // Jobs that were seen to be deleted, and whether they returned
	ends       ring[types.UID, time.Time]    // when Step returned the end of the run of a Job
	lost       ring[types.UID, State]        // losses that a live read of the owner has confirmed
	begun      ring[place, types.UID]        // Jobs that Step found unfinished, whose Ref may not be written yet
	ended      ring[place, ending]           // Jobs that were seen finished, whose Ref may not be written yet
	others     map[types.UID]others          // by owner, unfinished Jobs that Step has not created
	refused    ring[types.UID, types.NamespacedName]
	waiting    time.Time // since when creations wait for the informer; zero if none has
}

// New returns a Guard. The client gives the Job client of a namespace; the
// method value clientset.BatchV1().Jobs is one. A client needs Create, Get and
// Patch, and Delete with Options.DeleteCancelled. Its reads must be live.
//
// The informer is one of Jobs, and must watch all Jobs of the Guard. It may be:
//
//   - An informer of client-go, or what controller-runtime's cache returns for
//     one namespace or for all. Its store answers most questions without a
//     request, and its resource version proves that a Job is gone. New
//     registers an event handler, so that the results of Jobs that are deleted
//     before they are read are still found.
//   - The store of an informer. No event handler is registered. Step then does
//     not see the Jobs of an earlier version of the controller, see
//     Request.Name.
//   - An informer over several namespaces, which has no single store. The Guard
//     keeps the Jobs that its events bring. It asks to look again every 10
//     seconds at a Job that has not finished, because your own event handler
//     may be called first.
//   - Nil, or a nil pointer. Every Job is read live.
//
// If a selector of the informer excludes a Job, Step reads it from the API
// server until its outcome is recorded, and never releases it.
//
// It is an error if client is nil, if informer is none of these, if the
// retention is out of range, or if Options.Finalizer is not a finalizer name
// with a domain. New reports all of these problems, and then registers nothing.
// New also returns the error of the informer's AddEventHandler.
//
// A SucceededTTL or FailedTTL below 90 seconds is accepted, although work can
// then run twice. Retention.Warnings lists it. New has no logger: the first
// Step whose context has one logs it, once.
func New[J jobClient](client func(namespace string) J, informer any, opts Options) (*Guard[J], error) {
	g := &Guard[J]{client: client, opts: opts, now: time.Now, store: storeOf(informer), short: opts.Retention.freesNames()}
	g.others = map[types.UID]others{}
	h := handler[J]{g: g}
	if g.store == nil && !isnil.Is(informer) {
		h.events = &eventStore{jobs: map[string]*batchv1.Job{}}
		g.late, g.fed = true, true
		g.store = newStore(h.events)
	}
	register := registrar(informer, h)
	errs := opts.check()
	if client == nil {
		errs = append(errs, errors.New("jobgc: new: client is nil; want a function that returns the Job client of a namespace"))
	}
	if h.events != nil && register == nil {
		errs = append(errs, fmt.Errorf("jobgc: new: informer: %T is neither an informer of Jobs (GetStore or AddEventHandler) nor a store (GetByKey); pass one, or nil for live reads", informer))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	g.opts.CacheLagTimeout = cmp.Or(opts.CacheLagTimeout, 10*time.Second)
	g.opts.Tombstones = cmp.Or(opts.Tombstones, 1024)
	g.tombstones.limit, g.absent.limit, g.sent.limit = g.opts.Tombstones, g.opts.Tombstones, g.opts.Tombstones
	g.lost.limit = g.opts.Tombstones
	g.pasts.limit = g.opts.Tombstones
	g.ends.limit = g.opts.Tombstones
	g.released.limit, g.begun.limit, g.ended.limit = g.opts.Tombstones, g.opts.Tombstones, g.opts.Tombstones
	g.refused.limit = g.opts.Tombstones
	if register != nil {
		var err error
		if g.synced, err = register(); err != nil {
			return nil, err
		}
		g.listed = func() bool { return true }
		if has, ok := informer.(interface{ HasSynced() bool }); ok {
			g.listed = has.HasSynced
		}
	}
	return g, nil
}

// check returns an error for each field that New refuses.
func (o Options) check() []error {
	var errs []error
	for _, err := range o.Retention.check() {
		errs = append(errs, fmt.Errorf("jobgc: new: Options.%w", err))
	}
	if o.Finalizer != "" && !finalizer.IsName(o.Finalizer) {
		errs = append(errs, fmt.Errorf("jobgc: new: Options.Finalizer: %q is not accepted; want a domain and a name, such as agents.example.com/result", o.Finalizer))
	}
	return errs
}

// jobsIn returns the client of a namespace.
func (g *Guard[J]) jobsIn(namespace string) (J, error) {
	jobs := g.client(namespace)
	if isnil.Is(jobs) {
		return jobs, fmt.Errorf("the client of namespace %s is nil; return one, such as clientset.BatchV1().Jobs(namespace)", namespace)
	}
	return jobs, nil
}

// warn logs once which settings let work run twice.
func (g *Guard[J]) warn(ctx context.Context) {
	if len(g.short) == 0 || g.logged.Load() {
		return
	}
	log, err := logr.FromContext(ctx)
	if err == nil && g.logged.CompareAndSwap(false, true) {
		log.WithName("jobgc").Info("A Job TTL is too short", "warnings", g.short)
	}
}

func (g *Guard[J]) made() bool { return g != nil && g.client != nil }

func errNotMade() error { return errors.New("jobgc: the Guard is nil or empty; make it with New") }
