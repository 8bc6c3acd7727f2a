// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/e2e/status/kinds"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/status"
)

// worker is one controller, with a separate condition. Now and then it also
// acts as a user. It is one goroutine.
type worker struct {
	t      *testing.T
	stage  *stage
	ledger *ledger
	rand   *rand.Rand
	own    string
	commit func(before, after *kinds.Probe, f status.Facts) (status.Result, error)

	cache   map[string]*kinds.Probe // what it read last
	backup  map[string]*kinds.Probe // what it begins with after the next restart
	acting  int64                   // the generation of what it reconciles now
	saying  int                     // and the number in its condition; 0 for none
	counter int
	said    map[types.UID]int // what Commit reported as stored
	counts  map[string]int
}

func newWorker(t *testing.T, s *stage, l *ledger, id int, seed uint64) *worker {
	t.Helper()
	w := &worker{
		t: t, stage: s, ledger: l, rand: rand.New(rand.NewPCG(seed, uint64(id))), own: fmt.Sprint("Writer", id),
		cache: map[string]*kinds.Probe{}, said: map[types.UID]int{}, counts: map[string]int{},
	}
	owned, retries := []string{w.own}, 0
	if id == 7 {
		retries = -1 // for workers that reconcile again instead
	}
	told := func(result string, _ time.Duration) { w.counts[result]++ }
	if id%2 == 0 {
		typed := status.Writer{Owned: owned, Retries: retries, OnCommit: told}
		w.commit = func(before, after *kinds.Probe, f status.Facts) (status.Result, error) {
			return via(link(w, s.ours.probes.Patch), typed).Commit(t.Context(), before, after, f)
		}
		return w
	}
	untyped := status.Writer{Owned: owned, Retries: retries, OnCommit: told}
	w.commit = func(before, after *kinds.Probe, f status.Facts) (status.Result, error) {
		return via(link(w, s.ours.dynamic(probes).Patch), untyped).Commit(t.Context(), w.toMap(before), w.toMap(after), f)
	}
	return w
}

// visit reconciles every object, and many again of those where that is asked
// for; others wait for another event.
func (w *worker) visit(names []string) {
	for i, name := range inWindows(w.rand, names) {
		if i%97 == 96 {
			w.restart()
		}
		switch w.rand.IntN(60) {
		case 0, 1, 2, 3:
			w.respec(name)
		case 4:
			w.recreate(name)
		}
		if err := w.reconcile(w.look(name)); w.again(err) && w.rand.IntN(2) == 0 {
			live, err := w.stage.theirs.probes.Get(w.t.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				continue
			}
			if w.failed(err) {
				return
			}
			w.again(w.reconcile(live))
		}
	}
}

// restart forgets everything but a cache that is older than what this worker
// has written itself.
func (w *worker) restart() {
	w.counts["restarts"]++
	w.cache, w.backup = w.backup, w.ledger.snapshot()
	if w.cache == nil {
		w.cache = map[string]*kinds.Probe{}
	}
}

// look returns an object from a cache that is late; nil if it has none of the
// name.
func (w *worker) look(name string) *kinds.Probe {
	if stale := w.cache[name]; stale != nil && w.rand.IntN(2) == 0 {
		return stale
	}
	w.cache[name] = w.ledger.get(name)
	return w.cache[name]
}

// reconcile computes a status for an object that was read, and commits it.
func (w *worker) reconcile(before *kinds.Probe) error {
	if before == nil {
		return nil
	}
	after, facts := before.DeepCopy(), status.Facts{Progress: status.Progress(w.rand.IntN(3))}
	w.acting, w.saying = before.Generation, 0
	switch w.rand.IntN(10) {
	case 0: // nothing new
		facts.Progress = status.Waiting
	case 1: // a field that all of them write
		after.Status.Phase = fmt.Sprint(facts.Progress)
		after.Status.Steps = append(after.Status.Steps, w.own)
		fallthrough
	default:
		w.counter++
		w.saying = w.counter
		after.Status.ComputedFor = string(before.UID)
		status.SetCondition(&after.Status.Conditions, metav1.Condition{
			Type: w.own, Status: metav1.ConditionTrue, Reason: "Counted", Message: message(before.UID, w.saying),
		}, time.Now())
	}
	read := before.DeepCopy()
	result, err := w.commit(before, after, facts)
	if !equality.Semantic.DeepEqual(read, before) {
		w.t.Errorf("%s: Commit changed what was read:\n%+v\n%+v", w.own, read, before)
	}
	if err == nil && result != status.Gone && w.saying != 0 && w.said[before.UID] != w.saying {
		w.t.Errorf("%s: Commit reports %s, but %d is what was stored last, not %d", w.own, result, w.said[before.UID], w.saying)
	}
	return err
}

// again reports whether a reconcile that ended with err must be repeated. Any
// unexpected error fails the test.
func (w *worker) again(err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, errReplyLost), errors.Is(err, status.ErrReplaced), errors.Is(err, status.ErrSuperseded),
		errors.Is(err, status.ErrFieldConflict), apierrors.IsConflict(err):
		return true
	}
	return !w.failed(err)
}

// failed fails the test if there is an error.
func (w *worker) failed(err error) bool {
	if err != nil {
		w.t.Errorf("%s: %v", w.own, err)
	}
	return err != nil
}

// The users.

func (w *worker) createObject(name string) {
	_, err := w.stage.theirs.probes.Create(w.t.Context(), &kinds.Probe{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) { // by another worker's user
		w.failed(err)
	}
}

func (w *worker) recreate(name string) {
	w.counts["recreations"]++
	err := w.stage.theirs.probes.Delete(w.t.Context(), name, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		w.failed(err)
	}
	if w.rand.IntN(4) == 0 { // let others meet the gap
		suite.Wait(w.t.Context(), time.Duration(w.rand.IntN(20))*time.Millisecond)
	}
	w.createObject(name)
}

func (w *worker) respec(name string) {
	w.counts["respecs"]++
	w.counter++
	patch := fmt.Sprintf(`{"spec":{"image":"%s-%d"}}`, w.own, w.counter)
	_, err := w.stage.theirs.probes.Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		w.failed(err)
	}
}

var errReplyLost = errors.New("the reply was lost")

// link is a worker's PatchFunc. Another client may write before it, and replies
// may get lost after it.
func link[T status.Object](l *worker, patch patchFunc[T]) patchFunc[T] {
	return func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error) {
		switch chance := l.rand.IntN(100); {
		case chance < 5:
			l.counts["conflicts injected"]++
			l.respec(name)
		case chance < 6:
			l.counts["conflicts injected"]++
			l.recreate(name)
		}
		l.counts["requests"]++
		reply, err := patch(ctx, name, pt, data, opts, subresources...)
		switch {
		case apierrors.IsConflict(err):
			l.counts["409s"]++
		case err == nil && string(data) != "{}":
			l.counts["writes"]++
			p := l.toProbe(reply)
			mine := condition(p, l.own)
			said := count(mine)
			if p.Status.ObservedGeneration != l.acting || said != 0 && said == l.saying && mine.ObservedGeneration != l.acting {
				l.t.Errorf("%s acted on generation %d, and claims another: %+v", l.own, l.acting, p.Status)
			}
			if said != 0 {
				l.said[p.UID] = said
			}
			if l.rand.IntN(100) == 0 {
				l.counts["replies lost"]++
				return reply, errReplyLost
			}
		}
		return reply, err
	}
}

// toMap and toProbe convert: the kind has no field that either form loses.
func (w *worker) toMap(p *kinds.Probe) *unstructured.Unstructured {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	w.failed(err)
	return &unstructured.Unstructured{Object: m}
}

func (w *worker) toProbe(o status.Object) *kinds.Probe {
	if p, ok := o.(*kinds.Probe); ok {
		return p
	}
	p, err := decode[kinds.Probe](o.(*unstructured.Unstructured))
	w.failed(err)
	return p
}
