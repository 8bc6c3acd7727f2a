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

// flipped is bigRun with one condition changed.
func flipped() *Run {
	r := bigRun()
	c := r.Status.Conditions[2]
	c.Status, c.Reason = metav1.ConditionFalse, "Lost"
	status.SetCondition(&r.Status.Conditions, c, noon)
	return r
}

// stepped is flipped with another field changed.
func stepped() *Run {
	r := flipped()
	r.Status.Phase, r.Status.Message = "Stopping", "a step was lost"
	return r
}

// committed returns after as a Commit from bigRun stores it.
func committed(after *Run) *Run {
	_, err := (status.FieldNames{}).Patch(bigRun(), after, running, noon.Add(time.Hour))
	if err != nil {
		panic(err)
	}
	return after
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

func BenchmarkCommit(b *testing.B) {
	for name, change := range map[string]func() *Run{"Unchanged": bigRun, "Condition": flipped, "ConditionAndFields": stepped} {
		after := change()
		b.Run(name, func(b *testing.B) {
			c, before := echo[*Run]{committed(change())}, bigRun()
			w := via(c.Patch, status.Writer{})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Commit(b.Context(), before, after, running); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/Unstructured", func(b *testing.B) {
			c := echo[*unstructured.Unstructured]{asUnstructured(b, committed(change()))}
			w := via(c.Patch, status.Writer{})
			before, after := asUnstructured(b, bigRun()), asUnstructured(b, after)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Commit(b.Context(), before, after, running); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkObserve(b *testing.B) {
	s := status.Stamp{ObservedGeneration: 3, StartedAt: at(0)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Observe(running, 3, noon); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSetCondition(b *testing.B) {
	conds := bigRun().Status.Conditions
	same, other := conds[4], conds[4]
	other.Message = "something else"
	b.Run("Unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			status.SetCondition(&conds, same, noon)
		}
	})
	b.Run("Changed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			status.SetCondition(&conds, other, noon)
			status.SetCondition(&conds, same, noon)
		}
	})
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

func BenchmarkPatchOf1000Conditions(b *testing.B) {
	before, after := manyConditions(1000), manyConditions(1000)
	for i := range after.Status.Conditions {
		after.Status.Conditions[i].Message = "changed"
	}
	b.ReportAllocs()
	for b.Loop() {
		_, err := (status.FieldNames{}).Patch(before, after.DeepCopy(), running, noon)
		if err != nil {
			b.Fatal(err)
		}
	}
}
