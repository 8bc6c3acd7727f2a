// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events/eventstest"
)

// reconcile is the code under test. It asks for the one method that it uses.
func reconcile(rec interface {
	Failure(obj runtime.Object, err error)
}, obj runtime.Object,
) {
	rec.Failure(obj, errors.New("the store is away"))
	rec.Failure(obj, nil)
}

func Example() {
	rec := &eventstest.Recorder{}
	reconcile(rec, object("run-1"))
	for _, e := range rec.Entries() {
		fmt.Println(e.Type, e.Reason, e.Note)
	}
	// Output:
	// Warning InternalError the store is away
	// Normal Recovered recovered from InternalError
}

func ExampleRecorder_Reasons() {
	rec := &eventstest.Recorder{}
	rec.Eventf(object("run-1"), nil, "Normal", "Started", "Run", "started")
	fmt.Println(rec.Reasons())
	// Output: [Started]
}

func ExampleRecorder_Wait() {
	rec := &eventstest.Recorder{}
	go rec.Eventf(object("run-1"), nil, "Normal", "Started", "Run", "started")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	entries, err := rec.Wait(ctx, 1)
	fmt.Println(entries[0].Reason, err)
	// Output: Started <nil>
}

func ExampleRecorder_Legacy() {
	rec := &eventstest.Recorder{}
	rec.Legacy().Event(object("run-1"), "Normal", "Started", "100% done")
	fmt.Println(rec.Entries()[0].Note)
	// Output: 100% done
}

func ExampleRecorder_Reset() {
	rec := &eventstest.Recorder{}
	reconcile(rec, object("run-1"))
	rec.Reset()
	fmt.Println(len(rec.Entries()))
	// Output: 0
}
