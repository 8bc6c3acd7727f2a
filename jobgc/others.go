// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// others are the names of the unfinished Jobs of one owner that Step has
// neither created nor taken over.
type others struct {
	one  types.NamespacedName
	more map[types.NamespacedName]struct{} // nil for an owner of one Job
}

// named returns the names in their order.
func (o others) named() []types.NamespacedName {
	names := slices.Collect(maps.Keys(o.more))
	names = append(names, o.one)
	slices.SortFunc(names, func(a, b types.NamespacedName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return names
}

// noteOther keeps the name of an unfinished Job of another origin until it has
// finished, or Step has taken it over.
func (g *Guard[J]) noteOther(job *batchv1.Job) {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil {
		return
	}
	marked := job.Annotations[annotation] != "" || job.Name == jobName(Ref{}, owner.UID)
	if marked || StateOf(job).State == Finished {
		g.forgetOther(job)
		return
	}
	name := types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
	g.mu.Lock()
	defer g.mu.Unlock()
	has, known := g.others[owner.UID]
	if !known {
		g.others[owner.UID] = others{one: name}
		return
	}
	if has.one == name {
		return
	}
	if has.more == nil {
		has.more = map[types.NamespacedName]struct{}{}
		g.others[owner.UID] = has
	}
	has.more[name] = struct{}{}
}

// forgetOther frees what noteOther keeps of a Job.
func (g *Guard[J]) forgetOther(job *batchv1.Job) {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil {
		return
	}
	name := types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
	g.mu.Lock()
	defer g.mu.Unlock()
	has, known := g.others[owner.UID]
	if !known {
		return
	}
	delete(has.more, name)
	if has.one != name {
		return
	}
	for next := range has.more {
		has.one = next
		delete(has.more, next)
		g.others[owner.UID] = has
		return
	}
	delete(g.others, owner.UID)
}

// allow ends the refusal for an owner that no longer has the Job, which has not
// finished.
func (g *Guard[J]) allow(job *batchv1.Job) {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil || lastState(job).State == Finished {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	name := types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
	first, refused := g.refused.get(owner.UID)
	if refused && first == name {
		g.refused.put(owner.UID, types.NamespacedName{})
	}
}

// refuse returns an error for an owner that has recorded no Job, names none,
// and has one of another origin: to create a second one would run its work
// twice. It keeps to that when the Job has finished.
func (g *Guard[J]) refuse(owner metav1.Object) error {
	names := g.keptFrom(owner.GetUID())
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("Request.Name is empty, and Request.Owner %s controls %s that Step has not created: "+
		"set Request.Name to the name of the Job to take it over, or to another name to leave it alone",
		owner.GetName(), listed(names))
}

// keptFrom returns the Jobs that keep an owner from a Job of Step, and
// remembers the first one.
func (g *Guard[J]) keptFrom(owner types.UID) []types.NamespacedName {
	g.mu.Lock()
	defer g.mu.Unlock()
	has, known := g.others[owner]
	if known {
		names := has.named()
		g.refused.put(owner, names[0])
		return names
	}
	first, refused := g.refused.get(owner)
	if !refused || first.Name == "" {
		return nil
	}
	return []types.NamespacedName{first}
}

// listed names a Job, or at most three of several.
func listed(names []types.NamespacedName) string {
	const most = 3
	if len(names) == 1 {
		return "the Job " + names[0].String()
	}
	var texts []string
	for _, name := range names[:min(len(names), most)] {
		texts = append(texts, name.String())
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Sprintf("%d Jobs (%s%s)", len(names), strings.Join(texts, ", "), more)
}

// syncTimeout is how long creations wait for the first list of the informer
// without an error.
const syncTimeout = time.Minute

// unsynced reports whether the handler has received some, and not yet all, of
// the Jobs that the informer first listed, so that others is not complete. An
// informer that was not started does not count, so that unit tests can do
// without a running one.
func (g *Guard[J]) unsynced() (bool, error) {
	if g.synced == nil || g.synced() {
		return false, nil
	}
	listed := g.listed()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !listed && !g.fed {
		return false, nil
	}
	if g.waiting.IsZero() {
		g.waiting = g.now()
	}
	if g.now().Sub(g.waiting) < syncTimeout {
		return true, nil
	}
	return true, errors.New("the informer of Jobs has not synced: let the controller list and watch Jobs")
}
