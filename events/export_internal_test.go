// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

// RoutesOf is how many refusals the sink of r remembers.
func RoutesOf(r *Recorder) int {
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	return len(r.sink.routes)
}

// Kept is what r keeps: objects and series, and the occurrences that no write has told of.
func Kept(r *Recorder) (objects, series int, pending int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		for s := e.series; s != nil; s = s.older {
			series++
			pending += s.pending
		}
	}
	return len(r.entries), series, pending
}
