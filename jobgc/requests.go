// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
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

// do makes the request that the machine asks for.
func (c *call) do(ctx context.Context) answer {
	before := c.err
	c.err = nil
	var a answer
	switch c.asked {
	case requestBuild:
		a = c.build(ctx)
	case requestOwner:
		a = c.readOwner(ctx)
	case requestRead:
		c.why = before // what was refused before, if anything was
		a = c.readJob(ctx)
	case requestCreate:
		a = c.create(ctx)
	case requestMark:
		a = c.patch(ctx, c.marks())
	case requestRaise:
		a = c.patch(ctx, c.raising())
	case requestSuspend, requestResume:
		a = c.patch(ctx, c.steering())
	case requestRelease:
		a = c.patch(ctx, c.releasing())
	case requestDelete:
		a = c.remove(ctx)
	case requestNone:
	}
	return a
}

// jobAnswer is the answer of a request that returns the Job.
func (c *call) jobAnswer(job *batchv1.Job) answer {
	c.live = job
	facts := c.judge
	facts.asked = c.askedAgain(job)
	return answer{verdict: verdictDone, job: facts.facts(job)}
}

// verdictOf sorts the error of a request for the Job.
func (c *call) verdictOf(err error) verdict {
	api := apierrors.APIStatus(nil)
	switch {
	case err == nil:
		return verdictDone
	case !errors.As(err, &api) || apierrors.IsNotFound(err):
		return verdictUnknown
	case apierrors.IsAlreadyExists(err):
		return verdictTaken
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return verdictTerminating
	case apierrors.IsForbidden(err):
		return verdictDenied
	case apierrors.IsBadRequest(err): // a webhook that sets no code refuses with 400
		return verdictDenied
	case apierrors.IsInvalid(err):
		return verdictInvalid
	}
	return verdictRefused
}

// readJob reads the Job live.
func (c *call) readJob(ctx context.Context) answer {
	jobs, err := c.g.jobsIn(c.ref.Namespace)
	if err != nil {
		c.err = err
		return answer{verdict: verdictUnknown}
	}
	job, err := getJob(ctx, jobs, c.ref)
	if err != nil {
		c.err = err
		return answer{verdict: verdictUnknown}
	}
	if job == nil {
		return answer{verdict: verdictGone}
	}
	job.Namespace = c.ref.Namespace
	a := c.jobAnswer(job)
	a.same = c.refused != nil && c.refused.ResourceVersion == job.ResourceVersion
	return a
}

// create creates the Job.
func (c *call) create(ctx context.Context) answer {
	job := c.builder.job
	jobs, err := c.g.jobsIn(job.Namespace)
	if err != nil {
		c.err = err
		return answer{verdict: verdictUnknown}
	}
	until := c.answered.Add(createTimeout)
	if !c.g.now().Before(until) {
		c.err = fmt.Errorf("%s/%s was not created: the process stalled, and owner was read more than %s "+
			"ago: %w",
			job.Namespace, job.Name, createTimeout, context.DeadlineExceeded)
		return answer{verdict: verdictUnknown}
	}
	creating, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	live, err := jobs.Create(creating, job, metav1.CreateOptions{})
	if c.g.outOfTime(creating, until, err) {
		err = fmt.Errorf("the creation %s: %w", spent(ctx, until, createTimeout), err)
	}
	if err != nil {
		c.err = fmt.Errorf("create %s/%s: %w", job.Namespace, job.Name, err)
		return answer{verdict: c.creationVerdict(err)}
	}
	if live == nil || live.UID == "" || live.Name != job.Name {
		c.err = fmt.Errorf("create %s/%s: the client returned no Job of this name with a uid",
			job.Namespace, job.Name)
		return answer{verdict: verdictUnknown}
	}
	live.Namespace = job.Namespace
	return c.jobAnswer(live)
}

// creationVerdict sorts the error of a creation. A namespace that does not
// exist refuses it with a 404.
func (c *call) creationVerdict(err error) verdict {
	if apierrors.IsNotFound(err) {
		return verdictRefused
	}
	return c.verdictOf(err)
}

// patch applies a JSON patch to the Job.
func (c *call) patch(ctx context.Context, ops []operation) answer {
	c.refused = c.job(c.machine.found.job)
	jobs, err := c.g.jobsIn(c.ref.Namespace)
	if err != nil {
		c.err = err
		return answer{verdict: verdictUnknown}
	}
	data, err := json.Marshal(ops)
	if err != nil {
		c.err = err
		return answer{verdict: verdictUnknown}
	}
	job, err := jobs.Patch(ctx, c.ref.Name, types.JSONPatchType, data, metav1.PatchOptions{})
	gone, err := isGone(err, c.ref)
	if gone {
		return answer{verdict: verdictGone}
	}
	if err != nil {
		c.err = fmt.Errorf("%s %s/%s: %w", c.verb(), c.ref.Namespace, c.ref.Name, err)
		return answer{verdict: c.verdictOf(err)}
	}
	if job == nil {
		c.err = fmt.Errorf("%s %s/%s: the client returned neither a Job nor an error",
			c.verb(), c.ref.Namespace, c.ref.Name)
		return answer{verdict: verdictUnknown}
	}
	return c.jobAnswer(job)
}

func (c *call) verb() string {
	if c.asked == requestRelease {
		return "release"
	}
	return "patch"
}

// remove deletes the Job of a cancelled run, with its pods.
func (c *call) remove(ctx context.Context) answer {
	jobs, ok := c.g.client(c.ref.Namespace).(deleter)
	if !ok || isnil.Is(jobs) {
		c.err = fmt.Errorf("Options.DeleteCancelled: the client of namespace %s cannot delete Jobs",
			c.ref.Namespace)
		return answer{verdict: verdictUnknown}
	}
	err := jobs.Delete(ctx, c.ref.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &c.machine.ref.uid},
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	})
	gone, err := isGone(err, c.ref)
	if gone || notfound.Changed(err, c.ref.Name) { // changed: the name is another Job's
		return answer{verdict: verdictGone}
	}
	if err != nil {
		c.err = fmt.Errorf("delete %s/%s: %w", c.ref.Namespace, c.ref.Name, err)
	}
	return answer{verdict: c.verdictOf(err)}
}

// deleter is what Options.DeleteCancelled needs of a client.
type deleter interface {
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// readOwner reads the owner live.
func (c *call) readOwner(ctx context.Context) answer {
	stored, err := c.g.storedOwner(ctx, c.req)
	c.answered = c.g.now()
	if err != nil {
		c.err = err
		return answer{verdict: verdictUnknown}
	}
	return answer{verdict: verdictDone, owner: stored}
}

// storedOwner calls Request.Stored.
func (g *Guard) storedOwner(ctx context.Context, req Request) (owner, error) {
	until := g.now().Add(readTimeout)
	reading, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	object, ref, done, err := req.Stored(reading)
	if err == nil && g.now().After(until) {
		err = context.DeadlineExceeded // Stored does not honour its context
	}
	if g.outOfTime(reading, until, err) {
		return owner{}, fmt.Errorf("Request.Stored: the read of the owner %s: %w",
			spent(ctx, until, readTimeout), err)
	}
	gone, err := notfound.Is(err, schema.GroupResource{}, req.Owner.GetName())
	if gone {
		return owner{is: ownerGone}, nil
	}
	if err != nil {
		return owner{}, fmt.Errorf("Request.Stored: %w", err)
	}
	if isnil.Is(object) {
		return owner{}, errors.New("Request.Stored returned neither an owner nor an error")
	}
	if nameOf(object) != nameOf(req.Owner) || object.GetUID() == "" {
		return owner{}, fmt.Errorf("Request.Stored returned %s/%s with the uid %q, want owner %s/%s and "+
			"a uid", object.GetNamespace(), object.GetName(), object.GetUID(),
			req.Owner.GetNamespace(), req.Owner.GetName())
	}
	if object.GetUID() != req.Owner.GetUID() {
		return owner{is: ownerGone}, nil
	}
	out := owner{
		is:     ownerWaits,
		edited: object.GetGeneration() != req.Owner.GetGeneration(),
		ref:    recordOf(ref),
	}
	switch {
	case done:
		out.is = ownerDone
	case object.GetDeletionTimestamp() != nil:
		out.is = ownerDeleting
	}
	return out, nil
}

// outOfTime reports whether a request failed because the time until its
// deadline did not suffice. The rate limiter of client-go does not wait for a
// turn that comes after the deadline, and its error has no type.
func (g *Guard) outOfTime(ctx context.Context, until time.Time, err error) bool {
	if err == nil {
		return false
	}
	api := apierrors.APIStatus(nil)
	if errors.As(err, &api) {
		return false
	}
	over := ctx.Err() != nil || g.now().After(until)
	return over || strings.Contains(err.Error(), "would exceed context deadline")
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
