// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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
func (g *Guard) noteOther(job *batchv1.Job) {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil {
		return
	}
	if isOurs(job) || StateOf(job).State == Finished {
		g.forgetOther(job)
		return
	}
	name := nameOf(job)
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
func (g *Guard) forgetOther(job *batchv1.Job) {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil {
		return
	}
	name := nameOf(job)
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
func (g *Guard) allow(job *batchv1.Job) {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil || lastState(job).State == Finished {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	name := nameOf(job)
	first, _ := g.refused.get(owner.UID)
	if first == name {
		g.refused.put(owner.UID, types.NamespacedName{})
	}
}

// bars reports whether an owner that has recorded no Job, and names none, has
// one of another origin: to create a second one would run its work twice.
func (g *Guard) bars(owner types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, has := g.others[owner]
	first, _ := g.refused.get(owner)
	return has || first.Name != ""
}

// refusal is the error about such an owner. It is repeated after the Job has
// finished.
func (g *Guard) refusal(owner metav1.Object) error {
	return fmt.Errorf("Request.Name is empty, and Request.Owner %s controls %s that Step has not created: "+
		"set Request.Name to the name of the Job to take it over, or to another name to leave it alone",
		owner.GetName(), listed(g.keptFrom(owner.GetUID())))
}

// keptFrom returns the Jobs that keep an owner from a Job of Step, and
// remembers the first one.
func (g *Guard) keptFrom(owner types.UID) []types.NamespacedName {
	g.mu.Lock()
	defer g.mu.Unlock()
	has, known := g.others[owner]
	if known {
		names := has.named()
		g.refused.put(owner, names[0])
		return names
	}
	first, _ := g.refused.get(owner)
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
