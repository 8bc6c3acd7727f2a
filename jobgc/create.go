// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
)

const (
	// readTimeout is how long the read of the owner may take. The wait for the
	// client's rate limiter is part of it.
	readTimeout = 30 * time.Second

	// createTimeout is how long after the answer of that read the Job may be
	// created.
	createTimeout = 60 * time.Second

	// leastFinalTTL is the longest time from the state of the owner that Step
	// reads to the creation of its Job. A Job that another replica creates,
	// finishes and releases in between still has the name if its final TTL is
	// not shorter.
	leastFinalTTL = readTimeout + createTimeout
)

// read reads the owner live. The zero value is an owner that is gone or was
// recreated under the same name.
func (g *Guard[J]) read(ctx context.Context, req Request) (*stored, error) {
	until := g.now().Add(readTimeout)
	reading, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	owner, ref, done, err := req.Stored(reading)
	if err == nil && g.now().After(until) {
		err = context.DeadlineExceeded // Stored does not honour its context
	}
	if g.outOfTime(reading, until, err) {
		return nil, fmt.Errorf("Request.Stored: the read of the owner %s: %w", spent(ctx, until, readTimeout), err)
	}
	if gone, err := notfound.Is(err, schema.GroupResource{}, req.Owner.GetName()); gone {
		return &stored{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("Request.Stored: %w", err)
	}
	switch {
	case isnil.Is(owner):
		return nil, errors.New("Request.Stored returned neither an owner nor an error")
	case owner.GetName() != req.Owner.GetName() || owner.GetNamespace() != req.Owner.GetNamespace() || owner.GetUID() == "":
		return nil, fmt.Errorf("Request.Stored returned %s/%s with the uid %q, want owner %s/%s and a uid",
			owner.GetNamespace(), owner.GetName(), owner.GetUID(), req.Owner.GetNamespace(), req.Owner.GetName())
	case owner.GetUID() != req.Owner.GetUID():
		return &stored{}, nil
	}
	out := &stored{exists: true, deleting: owner.GetDeletionTimestamp() != nil, done: done, edited: owner.GetGeneration() != req.Owner.GetGeneration()}
	if ref != nil {
		out.ref = *ref.DeepCopy()
	}
	if out.ref.UID == "" {
		out.ref.Name = cmp.Or(out.ref.Name, req.Name)
	}
	return out, nil
}

// outOfTime reports whether a request failed because the time until its
// deadline did not suffice. The rate limiter of client-go does not wait for a
// turn that comes after the deadline, and its error has no type.
func (g *Guard[J]) outOfTime(ctx context.Context, until time.Time, err error) bool {
	if err == nil {
		return false
	}
	api := apierrors.APIStatus(nil)
	answered := errors.As(err, &api)
	over := ctx.Err() != nil || g.now().After(until)
	return !answered && (over || strings.Contains(err.Error(), "would exceed context deadline"))
}

// spent says what used the time of a request: its own limit, or the context of
// the caller.
func spent(ctx context.Context, until time.Time, limit time.Duration) string {
	deadline, has := ctx.Deadline()
	earlier := has && deadline.Before(until)
	if earlier || ctx.Err() != nil {
		return "did not end before the context of Step did"
	}
	return fmt.Sprintf("needs more than %s, its wait for the client's rate limiter included", limit)
}

// jobName is the name of the Job of an owner without a recorded one. A Ref has
// a name if Request.Name is set, or if an older version wrote it before the
// creation.
func jobName(ref Ref, owner types.UID) string { return cmp.Or(ref.Name, "run-"+string(owner)) }

// builderError is an error of Request.Job, which Step returns unchanged.
type builderError struct{ error }

// built is the Job that the caller builds, checked and completed.
func (g *Guard[J]) built(ref Ref, req Request) (*batchv1.Job, error) {
	job, err := req.Job()
	switch {
	case err != nil:
		return nil, builderError{err}
	case job == nil:
		return nil, errors.New("Request.Job returned neither a Job nor an error")
	}
	job = job.DeepCopy()
	want := jobName(ref, req.Owner.GetUID())
	job.Name = cmp.Or(job.Name, want)
	ref.Namespace = cmp.Or(ref.Namespace, job.Namespace)
	controller := metav1.GetControllerOfNoCopy(job)
	switch {
	case job.Name != want:
		return nil, fmt.Errorf("job.metadata.name is %q, want %q or none", job.Name, want)
	case ref.Namespace == "":
		return nil, errors.New("job.metadata.namespace and owner.metadata.namespace are empty")
	case job.Namespace != "" && job.Namespace != ref.Namespace:
		return nil, fmt.Errorf("job.metadata.namespace is %q, want the namespace of owner, %q", job.Namespace, ref.Namespace)
	case controller == nil || controller.UID != req.Owner.GetUID():
		return nil, fmt.Errorf("job.metadata.ownerReferences: owner %s with the uid %s is not the controller; use metav1.NewControllerRef", req.Owner.GetName(), req.Owner.GetUID())
	}
	if err := fits(job); err != nil {
		return nil, err
	}
	if req.Suspend != nil {
		job.Spec.Suspend = ptr.To(*req.Suspend)
	}
	retention := g.opts.Retention
	if req.Retention != nil {
		retention = *req.Retention
	}
	return g.prepared(job, ref.Namespace, retention), nil
}

// prepared is the Job to create.
func (g *Guard[J]) prepared(job *batchv1.Job, namespace string, retention Retention) *batchv1.Job {
	job = job.DeepCopy()
	job.Namespace = namespace
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	delete(job.Annotations, releasedAnnotation) // of the Job that this one is a copy of
	job.Annotations[annotation] = retention.text()
	// Only here: once a deletion has begun the API server lets no finalizer be
	// added.
	if g.opts.Finalizer != "" && !hasFinalizer(job, g.opts.Finalizer) {
		job.Finalizers = append(job.Finalizers, g.opts.Finalizer)
	}
	asked := job.Spec.TTLSecondsAfterFinished
	job.Spec.TTLSecondsAfterFinished = retention.atCreation(asked)
	if delete(job.Annotations, askedAnnotation); asked != nil {
		job.Annotations[askedAnnotation] = strconv.Itoa(int(*asked))
	}
	return job
}

// fits checks the length of the name. Pods carry it as a label. The pods of an
// Indexed Job have it, with their index behind it, as their host name.
func fits(job *batchv1.Job) error {
	const most = 63
	length, what := len(job.Name), ""
	if job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion && job.Spec.Completions != nil {
		length += len("-") + len(strconv.Itoa(int(max(*job.Spec.Completions, 1)-1)))
		what = fmt.Sprintf(" with the index of %d completions behind it", *job.Spec.Completions)
	}
	if length > most {
		return fmt.Errorf("job.metadata.name: %q%s has %d bytes; want at most %d", job.Name, what, length, most)
	}
	return nil
}

// create creates the Job, or adopts the Job that an earlier call created and
// did not record. It never tries twice: if the Job vanishes in between, another
// replica may have recorded its result and released it.
func (g *Guard[J]) create(ctx context.Context, v view, job *batchv1.Job, answered time.Time) (*Ref, Observation, error) {
	jobs, err := g.jobsIn(job.Namespace)
	if err != nil {
		return nil, Observation{}, err
	}
	until := answered.Add(createTimeout)
	if !g.now().Before(until) {
		return nil, Observation{}, fmt.Errorf("%s/%s was not created: the process stalled, and owner was read more than %s ago: %w",
			job.Namespace, job.Name, createTimeout, context.DeadlineExceeded)
	}
	creating, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	live, err := jobs.Create(creating, job, metav1.CreateOptions{})
	if api := apierrors.APIStatus(nil); errors.As(err, &api) && !apierrors.IsAlreadyExists(err) {
		// Validation, policies and quotas refuse before the API server looks
		// whether the name is taken: a call that was cut off may have created
		// the Job, which may have used up the quota itself.
		found, lookErr := g.readUnrecorded(ctx, Ref{Namespace: job.Namespace, Name: job.Name}, metav1.GetControllerOfNoCopy(job).UID)
		switch {
		case lookErr != nil:
			return nil, Observation{}, fmt.Errorf("looking for the Job %s/%s, whose creation was refused (%v): %w", job.Namespace, job.Name, err, lookErr) //nolint:errorlint // what refused is not the answer
		case found.Job != nil:
			return g.adopt(ctx, v, found.Job, found.Source)
		}
	}
	if apierrors.IsAlreadyExists(err) {
		live, err = jobs.Get(ctx, job.Name, metav1.GetOptions{})
		var missing bool
		if missing, err = isGone(err, Ref{Name: job.Name}); missing {
			return nil, Observation{State: Pending, Source: sourceLiveRead, Reason: reasonOwnerChanged, Message: messageOwnerChanged, After: poll}, nil
		}
	}
	switch {
	case g.outOfTime(creating, until, err):
		return nil, Observation{}, fmt.Errorf("create %s/%s: the creation %s: %w",
			job.Namespace, job.Name, spent(ctx, until, createTimeout), err)
	case err != nil:
		return nil, Observation{}, fmt.Errorf("create %s/%s: %w", job.Namespace, job.Name, err)
	case live == nil || live.UID == "" || live.Name != job.Name:
		return nil, Observation{}, fmt.Errorf("create %s/%s: the client returned no Job of this name with a uid", job.Namespace, job.Name)
	}
	if owner := metav1.GetControllerOfNoCopy(job); !metav1.IsControlledBy(live, &metav1.ObjectMeta{UID: owner.UID}) {
		err := taken(live, owner)
		if v.named {
			err = fmt.Errorf("Request.Name: %w; want the name of a Job of Request.Owner, or a free one", err)
		}
		return nil, Observation{}, err
	}
	live.Namespace = job.Namespace
	return g.adopt(ctx, v, live, sourceLiveRead)
}

// taken says whose Job has the name of the Job of owner.
func taken(live *batchv1.Job, owner *metav1.OwnerReference) error {
	has := metav1.GetControllerOfNoCopy(live)
	// If the controller is an earlier owner of the same name, it is gone, and
	// the garbage collector will delete its Job.
	predecessor := has != nil && has.Kind == owner.Kind && has.Name == owner.Name && has.APIVersion == owner.APIVersion
	switch {
	case live.DeletionTimestamp != nil || predecessor:
		return fmt.Errorf("an earlier Job of the name %s/%s is still being deleted", live.Namespace, live.Name)
	case has == nil:
		return fmt.Errorf("the name %s/%s belongs to a Job that has no controller", live.Namespace, live.Name)
	}
	return fmt.Errorf("the name %s/%s belongs to the Job of %s %s", live.Namespace, live.Name, has.Kind, has.Name)
}

// adopt puts a Job of this owner into the Ref. A TTL that could delete the Job
// before its result is recorded is raised. If a policy refuses that, the Job is
// recorded anyway. Otherwise its TTL would delete it, and Step would create it
// again.
func (g *Guard[J]) adopt(ctx context.Context, v view, job *batchv1.Job, source string) (*Ref, Observation, error) {
	next := v.ref
	next.Namespace, next.Name, next.UID, next.ResourceVersion = cmp.Or(v.ref.Namespace, job.Namespace), job.Name, job.UID, job.ResourceVersion
	next.CreatedAt = ptr.To(metav1.NewTime(v.now.Truncate(time.Second)))
	if source == sourceTombstone {
		next.Outcome = v.found.Outcome
		next.Released = true
		return &next, v.found, nil
	}
	g.see(job)
	if v.takes(job) {
		marked, err := g.takeOver(ctx, v, next, job)
		if err != nil {
			return nil, Observation{}, err
		}
		job = marked
	}
	if v.raises(job) {
		ops := []operation{
			{Op: "test", Path: "/metadata/uid", Value: job.UID},
			{Op: "add", Path: "/spec/ttlSecondsAfterFinished", Value: v.retention.atCreation(job.Spec.TTLSecondsAfterFinished)},
		}
		raised, err := g.patch(ctx, next, ops)
		// A webhook that sets no code refuses with 400. The outcome of a Job that
		// has finished is recorded now, so that its TTL does not matter.
		finished := StateOf(job).State == Finished
		final := apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || finished
		if err != nil && !final {
			return nil, Observation{}, err
		}
		if apierrors.IsInvalid(err) && !finished { // so is a failed test of the uid: the Job may be another one by now
			switch now, readErr := g.readLive(ctx, next); { // what refused is no answer about the Job
			case readErr != nil:
				return nil, Observation{}, fmt.Errorf("looking for the Job %s/%s, whose TTL was not raised (%v): %w", next.Namespace, next.Name, err, readErr) //nolint:errorlint // see above
			case now.gone():
				return nil, Observation{}, fmt.Errorf("the Job %s/%s was deleted meanwhile (%v)", next.Namespace, next.Name, err) //nolint:errorlint // see above
			}
		}
		if raised != nil {
			job, source = raised, sourceLiveRead
		}
	}
	v.ref, v.found = next, StateOf(job)
	v.found.Source = source
	switch {
	case v.cancel && v.ended && v.found.State == Finished:
		v.found = Observation{State: Pending, Source: source, After: poll} // it is released next
	case v.found.State == Finished:
		next.Outcome, next.Released = v.found.Outcome, v.settled()
		v.found.After = poll
	case g.store == nil:
		v.found.After = reread
	}
	return &next, v.found, nil
}

// raises reports whether the TTL of a Job could delete it before its result is
// recorded. Only a live copy shows whether its TTL is the final one.
func (v view) raises(job *batchv1.Job) bool {
	has := job.Spec.TTLSecondsAfterFinished
	return job.DeletionTimestamp == nil && job.Annotations[releasedAnnotation] == "" && !ptr.Equal(v.retention.atCreation(has), has)
}

// findUnrecorded looks for a Job of an owner that has recorded none. A call
// that was cut off may have created the Job. The cache shows it at some time.
// Of a cancelled or deleting owner it must be stopped now, or the owner waits
// for its outcome: the API server knows it.
func (g *Guard[J]) findUnrecorded(ctx context.Context, v view, owner types.UID) (Observation, error) {
	if v.ref.Namespace == "" || v.ended && !v.cancel {
		return unrecorded(nil, owner, sourceRef, nil)
	}
	asks := v.cancel || v.done // done, and not ended: it is being deleted
	if g.store != nil {
		job, _, err := g.store.get(Ref{Namespace: v.ref.Namespace, Name: jobName(v.ref, owner)})
		found, err := unrecorded(job, owner, sourceSeen, err)
		takes := v.takes(found.Job)
		if err != nil || v.ended || found.Job != nil && !takes && !v.raises(found.Job) {
			return found, err
		}
		if takes {
			g.see(found.Job)
			asks = true
		}
	}
	if v.ended || !asks {
		return unrecorded(nil, owner, sourceRef, nil)
	}
	found, err := g.readUnrecorded(ctx, v.ref, owner)
	if err != nil || found.Job != nil {
		return found, err
	}
	return g.recallGone(place{v.ref.Namespace, jobName(v.ref, owner), owner}), nil
}

// readUnrecorded asks the API server for the Job of an owner that has recorded
// none.
func (g *Guard[J]) readUnrecorded(ctx context.Context, ref Ref, owner types.UID) (Observation, error) {
	ref.Name = jobName(ref, owner)
	if ref.Namespace == "" {
		return unrecorded(nil, owner, sourceRef, nil)
	}
	jobs, err := g.jobsIn(ref.Namespace)
	if err != nil {
		return Observation{}, err
	}
	job, err := jobs.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		job = nil
	}
	_, err = isGone(err, ref)
	return unrecorded(job, owner, sourceLiveRead, err)
}

// unrecorded is what an owner that has recorded no Job knows of job.
func unrecorded(job *batchv1.Job, owner types.UID, source string, err error) (Observation, error) {
	if err != nil || job == nil || job.UID == "" || !metav1.IsControlledBy(job, &metav1.ObjectMeta{UID: owner}) {
		return Observation{State: NotCreated, Source: sourceRef}, err
	}
	found := StateOf(job)
	found.Source = source
	return found, nil
}
