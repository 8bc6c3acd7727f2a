// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// bigRun is a run in the middle of its work, with five steps and five
// conditions.
func bigRun() *Run {
	r := &Run{ObjectMeta: metav1.ObjectMeta{Name: "run-1", Namespace: "ci", UID: "u", ResourceVersion: "4711", Generation: 3}}
	r.Status = RunStatus{
		Stamp:   status.Stamp{ObservedGeneration: 3, UpdatedAt: at(0), StartedAt: at(0)},
		Phase:   "Running",
		JobRef:  &JobRef{Name: "run-1-job", UID: "0c7e"},
		Runtime: map[string]string{"node": "n1", "zone": "a"},
	}
	for i := range 5 {
		r.Status.Steps = append(r.Status.Steps, Step{Name: fmt.Sprintf("step-%d", i), Phase: "Running", StartedAt: at(0)})
		status.SetCondition(&r.Status.Conditions, metav1.Condition{
			Type: fmt.Sprintf("Condition%d", i), Status: metav1.ConditionTrue, Reason: "AsExpected",
			Message: "everything is as it should be", ObservedGeneration: 3,
		}, noon)
	}
	return r
}

func asUnstructured(tb testing.TB, o runtime.Object) *unstructured.Unstructured {
	tb.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		tb.Fatal(err)
	}
	return &unstructured.Unstructured{Object: m}
}

// echo answers every patch with the same object.
type echo[T any] struct{ reply T }

func (e echo[T]) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error) {
	return e.reply, nil
}

// manyConditions returns a Run with n conditions.
func manyConditions(n int) *Run {
	r := bigRun()
	r.Status.Conditions = nil
	for i := range n {
		r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{
			Type: "Condition" + strconv.Itoa(i), Status: metav1.ConditionTrue, Reason: "Ok", ObservedGeneration: 3,
			LastTransitionTime: metav1.NewTime(noon.Add(time.Duration(i) * time.Second)),
		})
	}
	return r
}
