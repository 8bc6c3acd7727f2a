// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package condition sets one condition of an object by server-side apply, for
// the case that many controllers have one condition each in the same object. A
// Writer of package status may own the rest of the status.
//
// Each such controller is a field manager. The API server merges the lists, and
// an apply never conflicts with the write of another program. A merge patch has
// the whole list: two controllers that write at one time conflict, and one of
// them has to merge and to try again.
//
// The CRD must declare the list of conditions as a map by type:
//
//	// +listType=map
//	// +listMapKey=type
//
// Otherwise each apply replaces the conditions of all other controllers.
package condition

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/status"
)

// Apply sets the condition c of o, as it was read. It sends one request, or
// none if o has the condition. manager is the name of the controller. Only this
// controller may set conditions of this type.
//
// An apply has no resourceVersion, so the API server accepts it from a copy of
// any age, also of an object that was deleted and recreated. The next reconcile
// then sets the condition again.
func Apply(
	ctx context.Context, client dynamic.ResourceInterface, o *unstructured.Unstructured, manager string,
	c metav1.Condition,
) error {
	conditions, err := conditionsOf(o)
	if err != nil {
		return err
	}
	c.ObservedGeneration = o.GetGeneration()
	if !status.SetCondition(&conditions, c, time.Now()) {
		return nil
	}
	changed := apimeta.FindStatusCondition(conditions, c.Type)
	set, err := runtime.DefaultUnstructuredConverter.ToUnstructured(changed)
	if err != nil {
		return err
	}
	apply := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": o.GetNamespace(), "name": o.GetName()},
		"status":   map[string]any{"conditions": []any{set}},
	}}
	apply.SetGroupVersionKind(o.GroupVersionKind())
	options := metav1.ApplyOptions{FieldManager: manager, Force: true}
	_, err = client.ApplyStatus(ctx, o.GetName(), apply, options)
	return err
}

// conditionsOf reads the conditions of o.
func conditionsOf(o *unstructured.Unstructured) ([]metav1.Condition, error) {
	var read struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &read)
	if err != nil {
		return nil, fmt.Errorf("the conditions of %s: %w", o.GetName(), err)
	}
	return read.Status.Conditions, nil
}
