// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
)

func TestConcerns_IgnoresStatusWrites(t *testing.T) {
	before := &v1.Task{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", Generation: 1, ResourceVersion: "1"}}
	after := before.DeepCopy()
	after.ResourceVersion, after.Status.Phase = "2", v1.Running
	assert.False(t, concerns(event.UpdateEvent{ObjectOld: before, ObjectNew: after}))
	after.Generation = 2
	assert.True(t, concerns(event.UpdateEvent{ObjectOld: before, ObjectNew: after}), "A new spec causes a reconcile.")
}
