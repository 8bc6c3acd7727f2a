// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package isolate calls a function that may panic or hang. Such a function
// costs its own result and nothing more.
package isolate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Errors of [Run.Wait].
var (
	// ErrLate says that the function did not return in time. It may still run.
	ErrLate = errors.New("did not return in time")
	// ErrPanic is wrapped by the error that says that the function panicked.
	ErrPanic = errors.New("panicked")
)

// errExited is the error until the function has returned or panicked.
var errExited = errors.New("ended its goroutine")

// Call is a function that is called again and again. At most one goroutine
// runs it. The zero value is ready for use.
type Call[T any] struct {
	mu      sync.Mutex
	running *Run[T] // nil while none runs
}

// Run is one call of the function.
type Run[T any] struct {
	done  chan struct{}
	late  atomic.Bool
	value T
	err   error
}

// Start calls f in a goroutine, or joins the running call. The goroutine
// outlives this call if f does not return. This is the one exception to the
// rule that no goroutine outlives its call.
func (c *Call[T]) Start(f func() (T, error)) *Run[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = &Run[T]{done: make(chan struct{}), err: errExited}
		go c.running.run(f, c)
	}
	return c.running
}

func (r *Run[T]) run(f func() (T, error), c *Call[T]) {
	defer func() {
		if v := recover(); v != nil {
			r.err = Panicked(v)
		}
		c.mu.Lock()
		c.running = nil
		c.mu.Unlock()
		close(r.done)
	}()
	r.value, r.err = f()
}

// Wait returns the function's results. It waits until ctx ends. If an earlier
// Wait gave up on the function, it does not wait.
func (r *Run[T]) Wait(ctx context.Context) (T, error) {
	if !r.late.Load() {
		select {
		case <-r.done:
		case <-ctx.Done():
			runtime.Gosched() // a process that got no CPU must not blame the function
			select {
			case <-r.done:
			default:
				r.late.Store(true)
			}
		}
	}
	select {
	case <-r.done:
		return r.value, r.err
	default:
		var none T
		return none, ErrLate
	}
}

// Panicked describes the value of a panic. The value may hold anything, for
// example a password, so only errors of the runtime are repeated.
func Panicked(v any) error {
	if err, ok := v.(runtime.Error); ok {
		return fmt.Errorf("%w: %w", ErrPanic, err)
	}
	return fmt.Errorf("%w with a %T", ErrPanic, v)
}
