// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Step takes the Job of one owner as far as it can go now: it creates the Job,
// observes it, suspends it, and releases it once its outcome is recorded. Call
// it on every reconcile, and again after Observation.After.
//
// Put the returned Ref (nil until there is a Job) and what the Observation says
// into the status of the owner, and write the status if it changed. The write
// must fail if the owner has changed since it was read: send its
// resourceVersion. Commit of package status does that, and merges what others
// have changed. The first Ref may wait until the Job has started, so that one
// write says both. Write it at most two seconds after the creation, also if
// many owners are in the queue. Until then Step finds the Job by its name and
// the uid of its owner, and also suspends, resumes and deletes it. If another
// client deletes the Job in that time, Step uses the result that this Guard has
// seen: its informer, or an earlier call. If the Guard has not seen the Job
// finish, Step creates it again. Only if the cache has never shown the Job,
// Step returns the Ref for ten seconds: once it is recorded, a Job that is gone
// is Missing.
//
// A new Ref may be of an older Job: one that Step takes over, or that a call
// which was cut off has created. The creationTimestamp of the Job tells.
//
// The Observation has these states:
//
//   - NotCreated, Pending: nothing is known. Change only the Ref. For an owner
//     that is being deleted, NotCreated means that it has no Job and gets none.
//   - Finished: the returned Ref has the outcome. A Job that has finished
//     before it could be suspended is Finished too.
//   - Lost (Missing, Replaced, Deleting): make the status final, and keep the
//     Ref. Before the first loss of a Ref, Step reads the owner live: it never
//     calls a run lost whose outcome another replica has recorded.
//   - Cancelled, with Request.Cancel: the Job is suspended, being deleted or
//     gone, and its pods may still be ending. Make the status final.
//   - The others say what the Job does.
//
// Step makes no request while the Job is in the cache and needs no change. With
// an informer, it makes none either for about ten seconds after it has first
// returned a Ref, while the cache has not shown the Job: it returns the Ref
// with Pending. It still reads the Job of a run that is Done, and without a
// recorded Ref also if the owner asks for another Suspend.
//
// A creation costs a read of the owner and the creation, and if the API server
// refuses it, as for a quota, a read of the Job, which may exist. A release
// costs a patch and, unless Request.RecordedAt saves it, a read of the owner.
// Without Options.Finalizer, a Job whose TTL is already the final one needs
// neither. A change of Request.Suspend costs a read of the owner and a patch.
// For an owner that is cancelled or being deleted, is not Done and has no Ref,
// each call costs a read of the Job. Until its Ref is recorded, each call for a
// cluster-scoped owner costs a read of the owner and of the Job. The first loss
// of a Ref costs a read of the owner.
//
// A creation may take 90 seconds, the wait for the client's rate limiter and
// for admission included: 30 for the read of the owner, and 60 after its
// answer. The context should allow two minutes.
//
// With an error, Step returns the Ref of the request. Step returns an error of
// Request.Job unchanged, if the API server has no Job of the owner. It cannot
// look for the Job of a cluster-scoped owner, because the Job that is not built
// has the namespace. After another error the state of the Job is unknown, and
// the next call finds out.
func (g *Guard) Step(ctx context.Context, req Request) (*Ref, Observation, error) {
	if !g.made() {
		return req.Ref, Observation{}, errNotMade()
	}
	g.warn(ctx)
	c, err := g.newCall(req)
	if err != nil {
		return req.Ref, Observation{}, fmt.Errorf("jobgc: step: %w", err)
	}
	waits, err := g.unsynced()
	if err != nil {
		return req.Ref, Observation{}, fmt.Errorf("jobgc: step: %w", err)
	}
	if waits {
		return req.Ref, Observation{State: Pending, Source: sourceCacheBehind, After: poll}, nil
	}
	if c.ref.UID == "" && req.Name != "" {
		g.memory.expects(c.place()) // a Job of an earlier version has no mark
	}
	c.recollect()
	c.machine.before = c.machine.memory
	err = c.look(ctx)
	if err != nil {
		return req.Ref, Observation{}, fmt.Errorf("jobgc: step: %w", err)
	}
	c.run(ctx)
	return c.result()
}

// call is one call of Step: it makes the requests that its machine asks for.
type call struct {
	g       *Guard
	req     Request
	ref     Ref // of the request, with the namespace and the name of the Job
	owner   types.UID
	machine machine
	judge   judge

	asked    request
	answered time.Time // when the live read of the owner has answered
	builder  *builder
	cached   *batchv1.Job
	live     *batchv1.Job
	last     Observation  // of a Job that is gone
	refused  *batchv1.Job // the Job as the refused patch was made for
	err      error        // of the last request
	why      error        // of the request before it, if that was refused
	from     stage        // of the last request
}

// newCall checks the request.
func (g *Guard) newCall(req Request) (*call, error) {
	err := req.check()
	if err != nil {
		return nil, err
	}
	c := &call{g: g, req: req, owner: req.Owner.GetUID()}
	c.judge = judge{
		owner: c.owner, retention: g.opts.Retention, finalizer: g.opts.Finalizer,
		outcome: recordOf(req.Ref).outcome, now: g.now(),
	}
	if req.Retention != nil {
		c.judge.retention = *req.Retention
	}
	c.builder = &builder{call: c}
	if req.Ref != nil {
		c.ref = *req.Ref.DeepCopy()
	}
	c.ref.Namespace = cmp.Or(c.ref.Namespace, req.Owner.GetNamespace())
	if c.ref.UID == "" {
		c.ref.Name = cmp.Or(req.Name, nameFor(c.owner))
	}
	age := c.judge.now.Sub(timeOf(c.ref.CreatedAt))
	c.machine = machine{
		view: view{
			ref:       recordOf(req.Ref),
			ended:     req.Done,
			deleting:  req.Owner.GetDeletionTimestamp() != nil,
			cancel:    req.Cancel,
			named:     req.Name != "",
			suspend:   wishOf(req.Suspend),
			finalizer: g.opts.Finalizer != "",
			deletes:   g.opts.DeleteCancelled,
		},
		informer: g.cached != nil,
		nowhere:  c.ref.Namespace == "",
		young:    c.ref.CreatedAt != nil && 0 <= age && age < cacheLag+time.Second, // it has whole seconds
		stage:    stageFind,
	}
	return c, nil
}

// recordOf is what a Ref records.
func recordOf(ref *Ref) record {
	if ref == nil {
		return record{}
	}
	return record{uid: ref.UID, outcome: ref.Outcome, released: ref.Released}
}

func wishOf(suspend *bool) wish {
	switch {
	case suspend == nil:
		return wishNone
	case *suspend:
		return wishSuspend
	}
	return wishRun
}

// look reads the Job from the cache.
func (c *call) look(ctx context.Context) error {
	job, err := c.g.inCache(ctx, c.ref.Namespace, c.ref.Name)
	if err != nil {
		return err
	}
	c.cached = job
	c.machine.cached = c.judge.facts(job)
	return nil
}

// run makes requests until the machine asks for none.
func (c *call) run(ctx context.Context) {
	for {
		c.recollect()
		machine, asked := c.machine.next()
		c.machine = machine
		c.takeNotes(ctx)
		if asked == requestNone {
			return
		}
		c.asked = asked
		c.from = machine.stage
		a := c.do(ctx)
		c.recollect() // events came in during the request
		c.machine = c.machine.answer(a)
		c.takeNotes(ctx)
	}
}

// recollect hands to the machine what the Guard remembers.
func (c *call) recollect() {
	if c.machine.ref.uid != "" {
		c.machine.memory, c.last = c.g.memory.ofJob(c.machine.ref.uid, c.g.now())
	} else {
		c.machine.memory, c.last = c.g.memory.ofPlace(c.place(), c.g.now())
		named := c.req.Name != ""
		c.machine.barred = !named && c.g.bars(c.owner)
	}
	if c.g.cached == nil {
		c.machine.memory.eventOver = true // no event comes
	}
	c.machine.recent = isRecent(c.req.RecordedAt, c.g.now())
}

// recordedLately is how long after the end of a run was recorded the caller's
// copy proves that. The release usually follows within a second. To restore the
// API server's store takes longer.
const recordedLately = time.Minute

// isRecent reports whether t is within recordedLately. A time in the future, by
// another clock, costs a read. A clock that is ahead moves the minute, and one
// that is behind shortens it.
func isRecent(t *metav1.Time, now time.Time) bool {
	if t.IsZero() {
		return false
	}
	age := now.Sub(t.Time)
	return 0 <= age && age < recordedLately
}

func (c *call) place() place { return place{c.ref.Namespace, c.ref.Name, c.owner} }

// takeNotes makes the Guard remember what the machine has noted, and log it.
func (c *call) takeNotes(ctx context.Context) {
	n := c.machine.notes
	c.machine.notes = notes{}
	if job := c.job(n.seen); job != nil {
		c.g.memory.saw(job, c.g.now())
	}
	if n.unsure {
		c.g.memory.doubts(c.place())
	}
	if n.unchanged {
		c.g.warnUnchanged(ctx, c.ref, cmp.Or(c.err, c.why))
	}
	if n.uid != "" {
		now := c.g.now()
		c.g.memory.change(n.uid, now, func(p past) past { return p.keeps(n, now) })
	}
}

// job returns the Job whose facts the machine has.
func (c *call) job(facts jobFacts) *batchv1.Job {
	if c.live != nil && c.live.UID == facts.uid {
		return c.live
	}
	if c.cached != nil && c.cached.UID == facts.uid {
		return c.cached
	}
	return nil
}

// result is what Step returns.
func (c *call) result() (*Ref, Observation, error) {
	err := c.failure()
	if err != nil {
		return c.req.Ref, c.observation(), err
	}
	return c.newRef(), c.observation(), nil
}

// newRef is the Ref to write.
func (c *call) newRef() *Ref {
	is := c.machine.ref
	if is == recordOf(c.req.Ref) {
		return c.req.Ref
	}
	next := c.ref
	next.Outcome = is.outcome
	next.Released = is.released
	if next.UID == "" {
		next.UID = is.uid
		at := c.g.memory.givenAt(is.uid, c.judge.now)
		next.CreatedAt = ptr.To(metav1.NewTime(at.Truncate(time.Second)))
	}
	return &next
}

// observation is the finding, for the caller.
func (c *call) observation() Observation {
	f := c.machine.found
	if f.state == "" {
		return Observation{}
	}
	var out Observation
	switch {
	case f.source == sourceTombstone && f.job.uid != "":
		out = c.last
	case f.job.uid != "":
		out = StateOf(c.job(f.job))
	}
	out.State = f.state
	out.Outcome = f.outcome
	out.Source = f.source
	out.After = f.again.after()
	c.explain(&out)
	return out
}

// explain gives the reason of a state that no condition of a Job has.
func (c *call) explain(out *Observation) {
	f := c.machine.found
	switch {
	case f.changed:
		out.Reason = reasonOwnerChanged
		out.Message = messageOwnerChanged
	case f.state == Missing:
		out.Reason = reasonMissing
		out.Message = messageMissing
	case f.state == Replaced:
		out.Reason = reasonReplaced
		out.Message = messageReplaced
	case f.ending:
		out.Reason = reasonTerminating
		out.Message = messageTerminating
	}
}

func (a again) after() time.Duration {
	switch a {
	case againSoon:
		return poll
	case againSettled:
		return settleTime
	case againLater:
		return reread
	case againEvent:
	}
	return 0
}

const (
	poll   = time.Second      // how soon to look again at a cache that lags
	reread = 10 * time.Second // how soon to look again at a Job whose events do not come
)

// failure is the error of a call that failed.
func (c *call) failure() error {
	f := c.machine.failure
	switch f {
	case failureNone:
		return nil
	case failureBuild:
		return c.builder.failure()
	case failureBarred:
		return fmt.Errorf("jobgc: step: %w", c.g.refusal(c.req.Owner))
	case failureDeleted:
		return fmt.Errorf("jobgc: step: the Job %s/%s was deleted in the meantime",
			c.ref.Namespace, c.ref.Name)
	case failureForeign:
		has := metav1.GetControllerOfNoCopy(c.current())
		return fmt.Errorf("jobgc: step: Request.Ref.UID: the Job %s/%s is controlled by %s %s, not by "+
			"Request.Owner",
			c.ref.Namespace, c.ref.Name, has.Kind, has.Name)
	case failureTaken:
		return fmt.Errorf("jobgc: step: %w", c.taken())
	case failureCreate, failureRelease:
		return fmt.Errorf("jobgc: step: %w", cmp.Or(c.err, c.why))
	case failureRequest:
	}
	return fmt.Errorf("jobgc: step: %w", c.lookingFor())
}
