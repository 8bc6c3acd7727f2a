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

// batch is the number of events before a wait, so that client-go's queues of
// 1,000 events never overflow.
const batch = 400

var (
	sent atomic.Int64 // sentinels
	idle atomic.Int64 // number of goroutines in an idle pipeline
)

// sentinel records the first failure of a new object and returns when its Event
// is created. In an ordered pipeline all earlier events are then done.
func sentinel(s *store, fail func(o *corev1.ConfigMap, note string)) error {
	name := "sentinel-" + strconv.FormatInt(sent.Add(1), 10) + "-"
	s.expect(name)
	fail(object(name+"x"), note)
	return s.await()
}

// settle waits until only the goroutines of the idle pipeline remain. It polls
// rarely, so that it costs almost nothing.
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

// drainOrdered and drainSpawning wait for pipelines like tools/record's, which
// has one goroutine, and tools/events', which starts one for each call and each
// event.
func drainOrdered(fail func(o *corev1.ConfigMap, note string)) func(*store) error {
	return func(s *store) error { return sentinel(s, fail) }
}

func drainSpawning(fail func(o *corev1.ConfigMap, note string)) func(*store) error {
	return func(s *store) error {
		if err := settle(); err != nil {
			return err
		}
		// Now all events are in the queue, in order.
		if err := sentinel(s, fail); err != nil {
			return err
		}
		return settle()
	}
}

// object returns an object without its kind, as from a typed client.
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
