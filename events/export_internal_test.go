// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "time"

// NamespacesOf is how many namespaces r knows.
func NamespacesOf(r *Recorder) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.book.namespaces)
}

// Kept is what r keeps: objects and series, and the occurrences that no write
// has reported.
func Kept(r *Recorder) (objects, series int, pending int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, obj := range r.book.objects {
		for _, s := range obj.series {
			series++
			pending += s.waiting.n
		}
	}
	return len(r.book.objects), series, pending
}

// Unbalanced is what does not add up in the book of r; empty when all is well.
func Unbalanced(r *Recorder) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book.wrong()
}

// Narrow makes r keep n series of an object, and pause them for at most
// longest.
func Narrow(r *Recorder, n int, longest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book.bounds.series = n
	r.book.bounds.longest = longest
	r.book.bounds.pause = min(r.book.bounds.pause, longest)
}
