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
	// maxKeys bounds the keys that a controller remembers as running, and those
	// that it remembers as failing.
	maxKeys = 10_000
	// forgetAfter is how long a key is remembered that is not reconciled again.
	forgetAfter = time.Hour
)

// keys are the keys of one controller whose reconcile runs, and those whose
// last reconcile failed.
type keys struct {
	mu      sync.Mutex
	running map[any]*attempt
	failing map[any]failure
}

// failure is the memory of a key that fails.
type failure struct {
	first    time.Time // since the last success
	last     time.Time
	terminal bool // the last one
}

func newKeys() keys {
	return keys{running: map[any]*attempt{}, failing: map[any]failure{}}
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
	switch {
	case failed(r):
		f, fails := k.failing[a.key]
		if !fails && len(k.failing) >= maxKeys {
			return true
		}
		if !fails {
			f.first = now
		}
		f.last = now
		f.terminal = r == TerminalError
		k.failing[a.key] = f
	case r != Canceled:
		delete(k.failing, a.key)
	}
	return true
}

// failed reports whether r is a failure. A rollout cancels reconciles, so
// Canceled is not one.
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
	failing = map[string]failures{"error": {}, "terminal": {}}
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, f := range k.failing {
		kind := "error"
		if f.terminal {
			kind = "terminal"
		}
		if !f.terminal && now.Sub(f.last) > forgetAfter {
			delete(k.failing, key)
			continue
		}
		sum := failing[kind]
		sum.n++
		sum.longest = max(sum.longest, now.Sub(f.first))
		failing[kind] = sum
	}
	return len(k.running), failing
}
