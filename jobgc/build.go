// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// builder calls Request.Job, once.
type builder struct {
	call   *call
	called bool
	raw    *batchv1.Job // as the caller built it
	job    *batchv1.Job // to create
	err    error
	own    bool // err is an error of Request.Job, which Step returns unchanged
}

// build builds the Job to create.
func (c *call) build(ctx context.Context) answer {
	c.builder.run()
	if c.builder.err != nil {
		return answer{verdict: verdictRefused}
	}
	if c.ref.Namespace == "" {
		c.ref.Namespace = c.builder.job.Namespace
		c.builder.err = c.look(ctx)
	}
	if c.builder.err != nil {
		return answer{verdict: verdictRefused}
	}
	return answer{verdict: verdictDone}
}

// failure is the error of a call whose Job cannot be built.
func (b *builder) failure() error {
	if b.own {
		return b.err
	}
	return fmt.Errorf("jobgc: step: %w", b.err)
}

func (b *builder) run() {
	if b.called {
		return
	}
	b.called = true
	job, err := b.call.req.Job()
	if err != nil {
		b.err = err
		b.own = true
		return
	}
	if job == nil {
		b.err = errors.New("Request.Job returned neither a Job nor an error")
		return
	}
	b.raw = job
	b.job, b.err = b.call.complete(job.DeepCopy())
}

// askedAgain is the ttlSecondsAfterFinished that the caller asks for, if a Job
// of the Ref has lost its annotations; nil otherwise.
func (c *call) askedAgain(job *batchv1.Job) *int32 {
	lost := job != nil && c.req.Ref != nil && job.UID == c.req.Ref.UID && job.Annotations[annotation] == ""
	if !lost || StateOf(job).State != Finished {
		return nil
	}
	c.builder.run()
	if c.builder.raw == nil {
		return nil
	}
	return c.builder.raw.Spec.TTLSecondsAfterFinished
}

// complete checks the Job that the caller built, and gives it what Step needs.
func (c *call) complete(job *batchv1.Job) (*batchv1.Job, error) {
	want := c.ref.Name
	if c.ref.UID != "" {
		want = cmp.Or(job.Name, want)
	}
	job.Name = cmp.Or(job.Name, want)
	namespace := cmp.Or(c.ref.Namespace, job.Namespace)
	owner := c.req.Owner
	controller := metav1.GetControllerOfNoCopy(job)
	switch {
	case job.Name != want:
		return nil, fmt.Errorf("job.metadata.name is %q, want %q or none", job.Name, want)
	case namespace == "":
		return nil, errors.New("job.metadata.namespace and owner.metadata.namespace are empty")
	case job.Namespace != "" && job.Namespace != namespace:
		return nil, fmt.Errorf("job.metadata.namespace is %q, want the namespace of owner, %q",
			job.Namespace, namespace)
	case controller == nil || controller.UID != owner.GetUID():
		return nil, fmt.Errorf("job.metadata.ownerReferences: owner %s with the uid %s is not the "+
			"controller; use metav1.NewControllerRef", owner.GetName(), owner.GetUID())
	}
	err := fits(job)
	if err != nil {
		return nil, err
	}
	if c.req.Suspend != nil {
		job.Spec.Suspend = ptr.To(*c.req.Suspend)
	}
	job.Namespace = namespace
	c.prepare(job)
	return job, nil
}

// prepare gives a Job its annotations, its finalizer and its first TTL.
func (c *call) prepare(job *batchv1.Job) {
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	delete(job.Annotations, releasedAnnotation) // of the Job that this one is a copy of
	delete(job.Annotations, askedAnnotation)
	job.Annotations[annotation] = c.judge.retention.text()
	asked := job.Spec.TTLSecondsAfterFinished
	if asked != nil {
		job.Annotations[askedAnnotation] = strconv.Itoa(int(*asked))
	}
	job.Spec.TTLSecondsAfterFinished = c.judge.retention.atCreation(asked)
	// Only here: once a deletion has begun the API server lets no finalizer be
	// added.
	name := c.judge.finalizer
	if name != "" && !hasFinalizer(job, name) {
		job.Finalizers = append(job.Finalizers, name)
	}
}

// fits checks the length of the name. Pods carry it as a label. The pods of an
// Indexed Job have it, with their index behind it, as their host name.
func fits(job *batchv1.Job) error {
	const most = 63
	length, what := len(job.Name), ""
	indexed := ptr.Deref(job.Spec.CompletionMode, "") == batchv1.IndexedCompletion
	if indexed && job.Spec.Completions != nil {
		length += len("-") + len(strconv.Itoa(int(max(*job.Spec.Completions, 1)-1)))
		what = fmt.Sprintf(" with the index of %d completions behind it", *job.Spec.Completions)
	}
	if length > most {
		return fmt.Errorf("job.metadata.name: %q%s has %d bytes; want at most %d",
			job.Name, what, length, most)
	}
	return nil
}
