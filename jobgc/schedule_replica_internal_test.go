// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"iter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// replica is one process of the controller, and its caches.
type replica struct {
	sim   *schedule
	guard *Guard
	store *laggingStore
	runAt int  // events of the runs' watch that have come
	run   *run // as cached

	resume  func() (struct{}, bool) // of the reconcile that is under way; nil if none is
	park    func(struct{}) bool
	fortune fortune
	dead    bool // the process was killed: nothing more is sent
	due     bool // a reconcile is queued
	again   time.Time

	stepped  map[types.UID]bool // the owners for which this process has called Step, without a Ref
	sawEnd   map[types.UID]bool // the owners whose Job this process saw finish, before their Ref
	cut      bool               // the request that is under way fails: the server was restored
	saidLost map[types.UID]bool // the Jobs that this process has reported as lost
}

// fortune is the result of a request.
type fortune int

const (
	served   fortune = iota
	refused          // an error, and nothing was done
	unheard          // done, and the answer is lost
	killed           // the process dies before the request is sent
	killedIn         // the process dies before the answer comes
)

var errSimulated = apierrors.NewInternalError(errors.New("simulated"))

// ask is one request of a replica. It waits until the schedule runs it.
func ask[T any](r *replica, serve func(*apiServer) (T, error)) (T, error) {
	var none T
	if r.dead || !r.park(struct{}{}) {
		return none, context.Canceled
	}
	if r.cut {
		r.cut = false
		return none, errSimulated
	}
	switch r.fortune {
	case refused:
		return none, errSimulated
	case killed:
		r.dead = true
		return none, context.Canceled
	default:
	}
	answer, err := serve(r.sim.apiServer)
	switch r.fortune {
	case unheard:
		return none, errSimulated
	case killedIn:
		r.dead = true
		return none, context.Canceled
	default:
	}
	return answer, err
}

// laggingStore is the informer's store of Jobs.
type laggingStore struct {
	r       *replica
	at      int // events that have come
	version int
	items   map[string]*batchv1.Job
}

// get is the cached read.
func (l *laggingStore) get(_ context.Context, namespace, name string) (*batchv1.Job, error) {
	job, ok := l.items[namespace+"/"+name]
	if !ok {
		return nil, apierrors.NewNotFound(resourceOfJobs, name)
	}
	return job, nil
}

// eventHandler is what New registers.
type eventHandler interface {
	OnAdd(obj any, initial bool)
	OnUpdate(before, after any)
	OnDelete(obj any)
}

// AddEventHandler does nothing: the replica calls the handler itself.
func (l *laggingStore) AddEventHandler(eventHandler) (registered, error) { return registered{}, nil }

type registered struct{}

func (registered) HasSynced() bool { return true }

// start begins a process, whose caches have just been listed.
func (r *replica) start() {
	s := r.sim
	*r = replica{sim: s, runAt: len(s.runLog), due: true, stepped: map[types.UID]bool{}, sawEnd: map[types.UID]bool{}, saidLost: map[types.UID]bool{}}
	r.store = &laggingStore{r: r, at: len(s.jobLog), version: s.version, items: map[string]*batchv1.Job{}}
	for name, job := range s.jobs {
		r.store.items[namespace+"/"+name] = r.seen(job)
	}
	if s.run != nil {
		r.run = s.run.clone()
	}
	r.guard, _ = New(func(string) simulated { return simulated{r} }, r.store.get, r.store, s.options) // checked once, in draw
	r.guard.now = func() time.Time { return s.now }
	if s.bug == createsFromCache {
		r.guard.memory = newMemory(0)
	}
}

// seen is a Job as the informer keeps it.
func (r *replica) seen(job *batchv1.Job) *batchv1.Job {
	if r.sim.strips {
		job = job.DeepCopy()
		job.Annotations, job.Finalizers, job.Labels = nil, nil, nil
	}
	return job
}

// hear delivers the next event of a watch.
func (r *replica) hearOfRuns() bool {
	if r.runAt == len(r.sim.runLog) {
		return false
	}
	e := r.sim.runLog[r.runAt]
	r.runAt++
	if r.run = e.object; e.deleted {
		r.run = nil
	}
	r.due = true
	return true
}

func (r *replica) hearOfJobs() bool {
	l := r.store
	if l.at == len(r.sim.jobLog) {
		return false
	}
	e := r.sim.jobLog[l.at]
	l.at++
	l.version = e.version
	job := r.seen(e.object)
	before := l.items[namespace+"/"+job.Name]
	if e.deleted {
		delete(l.items, namespace+"/"+job.Name)
		owner := metav1.GetControllerOfNoCopy(job).UID
		known := isOurs(job) || r.stepped[owner]
		if known && lastState(job).State == Finished {
			r.sawEnd[owner] = true
		}
		handler{r.guard}.OnDelete(job)
	} else {
		l.items[namespace+"/"+job.Name] = job
		r.notify(before, job)
	}
	r.due = true
	return true
}

// notify calls the Guard's handler, as an informer does.
func (r *replica) notify(before, job *batchv1.Job) {
	h := handler{r.guard}
	if before == nil {
		h.OnAdd(job, false)
		return
	}
	h.OnUpdate(before, job)
}

// begin begins a reconcile, which stops at its first request.
func (r *replica) begin() {
	r.due = false
	next, _ := iter.Pull(func(yield func(struct{}) bool) {
		r.park = yield
		if after, err := r.reconcile(); err != nil {
			r.again = r.sim.now.Add(time.Second)
		} else if after > 0 {
			r.again = r.sim.now.Add(after)
		}
	})
	r.resume = next
	r.proceed(served)
}

// proceed lets the request that waits go on, and takes the reconcile to the
// next one.
func (r *replica) proceed(v fortune) {
	r.fortune = v
	r.sim.note("replica %p goes on: %d", r, v)
	if _, more := r.resume(); !more {
		r.resume = nil
		if r.dead {
			r.start()
		}
	}
}

// reconcile is the controller that the package's documentation shows.
func (r *replica) reconcile() (time.Duration, error) {
	if r.run == nil || r.run.DeletionTimestamp != nil {
		return 0, nil
	}
	before, copied := r.run, r.run.clone()
	found, err := r.step(copied)
	if err == nil && r.sim.bug == releasesUnwritten && copied.ref != nil && copied.ref.Outcome != "" && before.phase == "" {
		_, err = r.step(copied)
	}
	if err != nil || copied.phase == before.phase && copied.ref.equal(before.ref) {
		return found.After, err
	}
	waits := found.State == Active || found.State == Suspended || found.State == Pending
	starts := before.ref == nil && copied.phase == "" && waits && found.StartedAt.IsZero()
	if starts && r.sim.postpones {
		return poll, nil
	}
	_, err = ask(r, func(s *apiServer) (struct{}, error) { return struct{}{}, s.commit(copied) })
	return found.After, err
}

// recordedAt is Request.RecordedAt, if the controller sets it.
func (r *replica) recordedAt(copied *run) *metav1.Time {
	if !r.sim.records {
		return nil
	}
	return copied.ended
}

func (r *replica) step(copied *run) (Observation, error) {
	unrecorded := copied.ref == nil
	if unrecorded {
		r.stepped[copied.UID] = true
	}
	ref, found, err := r.guard.Step(context.Background(), Request{
		Owner: copied, Ref: copied.ref, Done: copied.phase != "", RecordedAt: r.recordedAt(copied), Cancel: copied.cancel, Suspend: copied.suspend,
		Name:   r.sim.nameOf(copied),
		Stored: func(context.Context) (metav1.Object, *Ref, bool, error) { return r.stored(copied) },
		Job: func() (*batchv1.Job, error) {
			return &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{OwnerReferences: controlledBy(copied)},
				Spec:       batchv1.JobSpec{TTLSecondsAfterFinished: r.sim.template},
			}, nil
		},
	})
	if err != nil {
		return found, err
	}
	copied.ref = ref
	ran := found.State == Finished && r.sim.executed[copied.UID][ref.UID]
	if ran && unrecorded { // and no restore of the store has undone that
		r.sawEnd[copied.UID] = true
	}
	if found.Lost() && copied.phase == "" {
		r.watchLoss(copied)
	}
	switch {
	case copied.phase != "":
	case found.State == Cancelled:
		copied.phase = cancelled
	case found.Lost():
		copied.phase = lost
	case ref != nil && ref.Outcome != "":
		copied.phase = string(ref.Outcome)
	}
	if copied.phase != "" && copied.ended == nil {
		copied.ended = &metav1.Time{Time: r.sim.now}
	}
	return found, nil
}

// stored reads the owner, unless the controller has a bug.
func (r *replica) stored(copied *run) (metav1.Object, *Ref, bool, error) {
	switch r.sim.bug {
	case createsFromCache:
		if r.run == nil {
			return nil, nil, false, apierrors.NewNotFound(resourceOfRuns, copied.Name)
		}
		return r.run, r.run.ref, r.run.phase != "", nil
	case releasesUnwritten:
		return copied, copied.ref, copied.phase != "", nil
	default:
	}
	live, err := ask(r, func(s *apiServer) (*run, error) {
		if s.run == nil || s.run.Name != copied.Name {
			return nil, apierrors.NewNotFound(resourceOfRuns, copied.Name)
		}
		return s.run.clone(), nil
	})
	if err != nil {
		return nil, nil, false, err
	}
	return live, live.ref, live.phase != "", nil
}

func (r *Ref) equal(as *Ref) bool {
	if r == nil || as == nil {
		return r == as
	}
	return recordOf(r) == recordOf(as)
}

// watchLoss holds the first report of a loss to the stored run.
func (r *replica) watchLoss(copied *run) {
	s := r.sim
	again := r.saidLost[copied.ref.UID]
	r.saidLost[copied.ref.UID] = true
	waits := s.run != nil && s.run.UID == copied.UID && s.run.phase == ""
	if !again && !waits && s.bug == noBug {
		s.breaks("lost from a stale owner: Job %s", copied.ref.UID)
	}
}
