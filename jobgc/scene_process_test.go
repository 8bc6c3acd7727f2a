// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/jobgc"
)

const lostEnd = "Lost"

var errConnection = errors.New("connection reset by peer")

// process is one replica of the controller, from its start until it is killed:
// a Guard, its caches, and the reconcile of package documentation.
type process struct {
	*scene

	name   string
	guard  *jobgc.Guard
	store  *fakeStore
	copied *sceneOwner       // the cached owner; nil: there is none
	faults map[string]string // by request, of the running command
	busy   bool
	waits  context.Context // of the request that waits
	goes   chan struct{}   // lets a request that waits go on
	killed chan struct{}
	dead   bool
}

// newProcess starts a process, whose caches have just been listed.
func newProcess(t *testing.T, s *scene, name string) *process {
	t.Helper()
	p := &process{
		scene: s, name: name, store: &fakeStore{}, goes: make(chan struct{}), killed: make(chan struct{}),
	}
	p.sync()
	var cached jobgc.Cached
	if !s.uncached {
		cached = p.store
	}
	var err error
	p.guard, err = jobgc.New(p.client, cached, s.options)
	require.NoError(t, err)
	return p
}

// kill ends a process. Nothing that it does from now on has an effect.
func (p *process) kill() {
	if p.dead {
		return
	}
	p.dead = true
	close(p.killed)
}

// hearOwner brings the cached owner up to date.
func (p *process) hearOwner() { p.copied = p.owner }

// hearJobs brings the cache of Jobs up to date.
func (p *process) hearJobs() { p.store.sync(p.server) }

// sync brings all caches up to date.
func (p *process) sync() {
	p.hearOwner()
	p.hearJobs()
}

// say adds a line to the output of the command.
func (p *process) say(format string, args ...any) {
	if p.dead {
		return
	}
	line := fmt.Sprintf(format, args...)
	if p.second {
		line = p.name + ": " + line
	}
	p.scene.say("%s", line)
}

// ask makes a request, unless the scene has a fault for it.
func ask[T any](ctx context.Context, p *process, kind, what string, serve func() (T, error), show func(T) string) (T, error) {
	var none T
	fault := p.faults[kind]
	delete(p.faults, kind)
	fails := func(why string, err error) (T, error) {
		p.say("%s: %s", what, why)
		return none, err
	}
	if fault == "waits" {
		p.say("%s: waits", what)
		p.waits = ctx
		select {
		case <-p.goes:
		case <-p.killed:
		}
	}
	if p.dead {
		return none, context.Canceled
	}
	if ctx.Err() != nil {
		return fails("too late", ctx.Err())
	}
	switch fault {
	case "", "waits", "unanswered", "killed-after":
	case "lost":
		return fails("never arrives", errConnection)
	case "refused":
		return fails("refused", apierrors.NewInternalError(errors.New("etcd is away")))
	case "denied":
		return fails("denied", apierrors.NewForbidden(jobResource, "run-1", errors.New("by a policy")))
	case "invalid":
		return fails("invalid", invalid("run-1"))
	case "terminating":
		return fails("the namespace is terminating", terminating())
	case "late":
		p.late = append(p.late, func() { _, _ = serve() })
		return fails("no answer yet", errConnection)
	case "killed-before":
		p.say("%s: killed before", what)
		p.kill()
		return none, context.Canceled
	default:
		p.breaks("the runner knows no fault %q", fault)
	}
	answer, err := serve()
	switch {
	case fault == "unanswered":
		return fails("done, and no answer", errConnection)
	case fault == "killed-after":
		p.say("%s: done, and killed", what)
		p.kill()
		return none, context.Canceled
	case err != nil:
		return fails(string(apierrors.ReasonForError(err)), err)
	}
	p.say("%s: %s", what, show(answer))
	return answer, nil
}

// terminating is the refusal of a namespace that is being deleted.
func terminating() error {
	err := apierrors.NewForbidden(jobResource, "run-1", errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

// client is what the method value clientset.BatchV1().Jobs would be.
func (p *process) client(string) sceneJobs { return sceneJobs{p} }

// sceneJobs is the Job client of a process.
type sceneJobs struct{ p *process }

func (c sceneJobs) Create(ctx context.Context, job *batchv1.Job, _ metav1.CreateOptions) (*batchv1.Job, error) {
	return ask(ctx, c.p, "create", "create "+job.Name, func() (*batchv1.Job, error) { return c.p.create(job) }, shownJob)
}

func (c sceneJobs) Get(ctx context.Context, name string, _ metav1.GetOptions) (*batchv1.Job, error) {
	return ask(ctx, c.p, "job", "read "+name, func() (*batchv1.Job, error) { return c.p.read(name) }, shownJob)
}

func (c sceneJobs) List(ctx context.Context, _ metav1.ListOptions) (*batchv1.JobList, error) {
	show := func(list *batchv1.JobList) string { return fmt.Sprintf("%d Jobs", len(list.Items)) }
	return ask(ctx, c.p, "jobs", "list", func() (*batchv1.JobList, error) { return c.p.list(), nil }, show)
}

func (c sceneJobs) Patch(
	ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*batchv1.Job, error) {
	patch := func() (*batchv1.Job, error) { return c.p.patchJob(name, data) }
	show := func(job *batchv1.Job) string {
		if c.p.jobs[name] == nil {
			return string(job.UID) + " is gone"
		}
		return shownJob(job)
	}
	return ask(ctx, c.p, "patch", "patch "+name, patch, show)
}

func (c sceneJobs) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	remove := func() (string, error) { return "ok", c.p.deleteFor(name, *opts.Preconditions) }
	what := "delete " + name
	if *opts.PropagationPolicy != metav1.DeletePropagationBackground {
		what += ", and its pods stay"
	}
	_, err := ask(ctx, c.p, "delete", what, remove, strings.Clone)
	return err
}

// reconcile is the controller that the package's documentation shows.
func (p *process) reconcile(ctx context.Context, postpones bool) time.Duration {
	before := p.copied
	if before == nil {
		p.say("no owner")
		return 0
	}
	next := before.clone()
	found, err := p.step(ctx, next)
	if err != nil {
		p.say("= error: %s", err)
		if found.State != "" {
			p.say("= %s", shownObservation(found))
		}
		return time.Second
	}
	p.enter(next, found)
	if !p.brief {
		p.say("= %s; %s", shownObservation(found), shownRef(next.ref))
	}
	same := shownRef(next.ref) == shownRef(before.ref) && next.end == before.end
	if same || p.dead {
		return found.After
	}
	if postpones {
		p.say("the write waits")
		return found.After
	}
	if p.faults["write"] == "ignored" {
		delete(p.faults, "write")
		p.say("write: fails, and the caller believes its copy")
		p.copied = next
		return found.After
	}
	write := func() (string, error) { return shownOwner(next), p.commit(next) }
	_, _ = ask(ctx, p, "write", "write", write, strings.Clone)
	return cmp.Or(found.After, time.Millisecond)
}

func (p *process) step(ctx context.Context, o *sceneOwner) (jobgc.Observation, error) {
	log := funcr.NewJSON(p.logged, funcr.Options{})
	ref, found, err := p.guard.Step(logr.NewContext(ctx, log), jobgc.Request{
		Owner: o, Ref: o.ref, Done: o.end != "",
		Cancel: o.cancel, Suspend: o.suspend, Name: p.jobName,
		Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			live, err := ask(ctx, p, "owner", "read owner", p.readOwner, shownOwner)
			if err != nil {
				return nil, nil, false, err
			}
			return live, live.ref, live.end != "", nil
		},
		Job: func() (*batchv1.Job, error) {
			if p.faults["build"] == "fails" {
				delete(p.faults, "build")
				p.say("build: fails")
				return nil, errors.New("the Secret is absent")
			}
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ownerRef("run", o.UID)}}}
			job.Spec.TTLSecondsAfterFinished = p.template
			return job, nil
		},
	})
	if err == nil {
		o.ref = ref
	}
	return found, err
}

// logged shows the message of a line of the log.
func (p *process) logged(object string) {
	var line struct{ Msg string }
	if err := json.Unmarshal([]byte(object), &line); err != nil {
		p.breaks("log: %v", err)
	}
	p.say("log: %s", line.Msg)
}

func (s *sceneServer) readOwner() (*sceneOwner, error) {
	if s.owner == nil {
		return nil, apierrors.NewNotFound(ownerResource, "run")
	}
	return s.owner.clone(), nil
}

// enter makes the status of the owner final.
func (p *process) enter(o *sceneOwner, found jobgc.Observation) {
	if o.end != "" {
		return
	}
	switch {
	case found.State == jobgc.Cancelled:
		o.end = string(jobgc.Cancelled)
	case found.Lost():
		o.end = lostEnd
	case o.ref != nil && o.ref.Outcome != "":
		o.end = string(o.ref.Outcome)
	}
	if o.end != "" {
		o.endedAt = time.Now()
	}
}
