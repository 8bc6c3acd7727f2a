// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobgctest makes client-go's fake clientset answer as an API server
// does where package jobgc needs it.
//
// The fake gives a new Job neither a uid nor a resource version. Without a uid,
// Step cannot distinguish a Job from a later Job of the same name, and fails.
package jobgctest

import (
	"strconv"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	clienttesting "k8s.io/client-go/testing"
)

// Fake is a fake clientset of client-go.
type Fake interface {
	PrependReactor(verb, resource string, reaction clienttesting.ReactionFunc)
}

// GiveUIDs gives a uid and a resource version to each Job that a test creates
// from now on. Objects that were passed to NewClientset stay unchanged.
func GiveUIDs(clientset Fake) {
	var mu sync.Mutex
	version := 0
	clientset.PrependReactor("create",
		"jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
			create, ok := action.(clienttesting.CreateAction)
			if !ok {
				return false, nil, nil
			}
			job, ok := create.GetObject().(*batchv1.Job)
			if !ok {
				return false, nil, nil
			}
			mu.Lock()
			defer mu.Unlock()
			version++
			job.UID, job.ResourceVersion = uuid.NewUUID(), strconv.Itoa(version)
			return false, nil, nil
		})
}
