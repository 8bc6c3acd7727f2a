// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// batch is how many events are recorded before they are waited for, so that no queue of client-go's, of 1,000 events,
// overflows.
const batch = 400

var (
	sent atomic.Int64 // sentinels
	idle atomic.Int64 // goroutines when nothing is under way
)

// sentinel records a failure of an object that never failed before and returns when its Event is created: in a pipeline
// that keeps the order, all before it was dealt with.
func sentinel(s *store, fail func(o *corev1.ConfigMap, note string)) error {
	name := "sentinel-" + strconv.FormatInt(sent.Add(1), 10) + "-"
	s.expect(name)
	fail(object(name+"x"), note)
	return s.await()
}

// settle waits until no goroutine is left but those that were there when idle was set. It looks seldom enough to
// cost next to nothing.
func settle() error {
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > int(idle.Load()) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d goroutines run after %s; %d are there when nothing is under way", runtime.NumGoroutine(), patience, idle.Load())
		}
		<-time.After(100 * time.Microsecond)
	}
	return nil
}

// drainOrdered and drainSpawning wait for pipelines like tools/record's, which is one goroutine, and tools/events', which
// starts one for each call and for each event.
func drainOrdered(fail func(o *corev1.ConfigMap, note string)) func(*store) error {
	return func(s *store) error { return sentinel(s, fail) }
}

func drainSpawning(fail func(o *corev1.ConfigMap, note string)) func(*store) error {
	return func(s *store) error {
		if err := settle(); err != nil {
			return err
		}
		// Now all are on their way in order.
		if err := sentinel(s, fail); err != nil {
			return err
		}
		return settle()
	}
}

// object is one that a typed client has read: without its kind.
func object(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ci", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "4711",
	}}
}

func objects(n int) []*corev1.ConfigMap {
	out := make([]*corev1.ConfigMap, n)
	for i := range out {
		out[i] = object("run-" + strconv.Itoa(i))
	}
	return out
}
