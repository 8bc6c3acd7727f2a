// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"reflect"
	"sync"
	"time"
)

const (
	// maxKeys bounds the keys that a controller remembers as running, as failing,
	// and as failing terminally.
	maxKeys = 10_000
	// forgetAfter is how long a key is remembered that is not reconciled again.
	forgetAfter = time.Hour
)

// keys are the keys of one controller whose reconcile runs, and those whose
// last reconcile failed.
type keys struct {
	mu       sync.Mutex
	running  map[any]*attempt
	failing  map[any]failure
	terminal map[any]failure // so many of them do not hide the others
}

// failure is the memory of a key that fails.
type failure struct {
	first time.Time // since the last success
	last  time.Time
}

func newKeys() keys {
	return keys{
		running:  map[any]*attempt{},
		failing:  map[any]failure{},
		terminal: map[any]failure{},
	}
}

// mapKey returns the key, or its text if it cannot be the key of a map.
func mapKey(key any) any {
	if reflect.ValueOf(key).Comparable() {
		return key
	}
	return fmt.Sprint(key)
}

// start notes that a key runs. It returns false if an earlier reconcile of the
// key has not ended, and ends it.
func (k *keys) start(a *attempt) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	earlier, runs := k.running[a.key]
	if runs {
		earlier.ended = true
	}
	if runs || len(k.running) < maxKeys {
		k.running[a.key] = a
	}
	return !runs
}

// finish notes the result of a reconcile. It returns false if the reconcile has
// ended before.
func (k *keys) finish(a *attempt, r Result, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a.ended {
		return false
	}
	a.ended = true
	delete(k.running, a.key)
	if r == Canceled {
		return true
	}
	first := now
	kind := k.failing
	if r == TerminalError {
		kind = k.terminal
	}
	for _, known := range []map[any]failure{k.failing, k.terminal} {
		f, fails := known[a.key]
		if fails {
			first = f.first
			delete(known, a.key)
		}
	}
	if failed(r) && len(kind) < maxKeys {
		kind[a.key] = failure{first: first, last: now}
	}
	return true
}

// failed reports whether r is a failure. A rollout cancels reconciles, so
// Canceled is not one, and an earlier failure stays.
func failed(r Result) bool {
	return r == Error || r == TerminalError || r == Timeout || r == panicked
}

// failures are the keys that fail in one way.
type failures struct {
	n       int64
	longest time.Duration
}

// count returns how many keys run, and how many fail by kind of failure. It
// drops keys that have not been reconciled for an hour, except terminal ones: a
// retry is not expected there.
func (k *keys) count(now time.Time) (running int, failing map[string]failures) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, f := range k.failing {
		if now.Sub(f.last) > forgetAfter {
			delete(k.failing, key)
		}
	}
	return len(k.running), map[string]failures{
		"error":    sum(k.failing, now),
		"terminal": sum(k.terminal, now),
	}
}

func sum(kind map[any]failure, now time.Time) failures {
	all := failures{n: int64(len(kind))}
	for _, f := range kind {
		all.longest = max(all.longest, now.Sub(f.first))
	}
	return all
}
