// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"slices"
)

// Kept is what r keeps: objects and series, and the occurrences that no write
// has reported.
func Kept(r *Recorder) (objects, series int, pending int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.objects {
		for _, s := range o.series {
			series++
			pending += s.n
		}
	}
	return len(r.objects), series, pending
}

// Unbalanced is what does not add up in what r keeps, while no request is under
// way; empty when all is well.
func Unbalanced(r *Recorder) (problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	check := func(holds bool, format string, args ...any) {
		if !holds {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	members := map[*namespace]int{}
	series := 0
	var pending int64
	for k, o := range r.objects {
		check(o.key == k && !o.isGone, "%s is not where it belongs", k.Name)
		check(r.namespaces[o.namespace.name] == o.namespace, "%s has another namespace", k.Name)
		check(!o.isParked || slices.Contains(o.namespace.waiting, o), "%s is in no list", k.Name)
		check(len(o.series) <= maxSeries, "%s has %d series", k.Name, len(o.series))
		check(len(o.reasons) <= maxReasons, "%s has %d reasons", k.Name, len(o.reasons))
		members[o.namespace]++
		series += len(o.series)
		for _, s := range o.series {
			pending += s.n
			check(s.n >= 0, "%s of %s has %d occurrences", s.reason, k.Name, s.n)
		}
		_, at := r.next(o, o.planned)
		isPlanned := !o.planned.IsZero() || o.isParked || o.writing != nil || r.queue == nil
		check(at.IsZero() || isPlanned, "%s waits for nothing", k.Name)
	}
	for _, n := range r.namespaces {
		check(n.members == members[n] && n.members > 0, "%s has %d objects, not %d", n.name, members[n], n.members)
	}
	check(series == r.seriesCount, "there are %d series, not %d", series, r.seriesCount)
	check(r.busy > 0 || pending == r.stats.Pending, "%d occurrences wait, not %d", pending, r.stats.Pending)
	return problems
}
