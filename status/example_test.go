// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// stored is a run as an informer hands it out.
func stored() *Run {
	return &Run{ObjectMeta: metav1.ObjectMeta{Name: "build", UID: "b1", ResourceVersion: "41", Generation: 2}}
}

func Example() {
	run := stored()
	after := run.DeepCopy()
	after.Status.Phase = "Running"
	patch, err := status.FieldNames{}.Patch(run, after, status.Facts{Progress: status.Running}, noon)
	fmt.Println(string(patch), err)
	// Output:
	// {"metadata":{"resourceVersion":"41"},"status":{"observedGeneration":2,"phase":"Running","startedAt":"2025-06-01T12:00:00Z","updatedAt":"2025-06-01T12:00:00Z"}} <nil>
}

// A controller's decision is tested without a cluster: a status goes in, a
// patch comes out.
func Example_unitTest() {
	reconcile := func(run *Run, image string) (*Run, status.Facts) { // the code under test
		after := run.DeepCopy()
		if image == "" {
			after.Status.Phase = "Failed"
			return after, status.Facts{Progress: status.Done}
		}
		return after, status.Facts{Progress: status.Running}
	}

	before := stored()
	after, facts := reconcile(before, "")
	patch, err := status.FieldNames{}.Patch(before, after, facts, noon)
	fmt.Println("written:", patch != nil, err)
	fmt.Println("broken:", statustest.Check(before.Status.Stamp, after.Status.Stamp, before.Generation))
	fmt.Println("finished:", after.Status.FinishedAt.UTC(), "started:", after.Status.StartedAt)
	// Output:
	// written: true <nil>
	// broken: []
	// finished: 2025-06-01 12:00:00 +0000 UTC started: <nil>
}

// Nothing changed, so nothing is written; the generation alone is a change,
// because a new spec was seen.
func ExampleFieldNames_Patch_again() {
	run := stored()
	run.Status.Stamp = status.Stamp{ObservedGeneration: 1, UpdatedAt: at(0), StartedAt: at(0)}
	facts := status.Facts{Progress: status.Running}

	seen := run.DeepCopy()
	patch, _ := status.FieldNames{}.Patch(run, seen, facts, noon.Add(time.Hour))
	fmt.Println(string(patch))

	patch, _ = status.FieldNames{}.Patch(seen, seen.DeepCopy(), facts, noon.Add(2*time.Hour))
	fmt.Println(patch == nil)
	// Output:
	// {"metadata":{"resourceVersion":"41"},"status":{"observedGeneration":2,"updatedAt":"2025-06-01T13:00:00Z"}}
	// true
}

// A CRD that has had its own names for years keeps them, typed or unstructured.
func ExampleFieldNames_Patch() {
	backup := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "nightly", "resourceVersion": "7", "generation": int64(1)},
	}}
	after := backup.DeepCopy()
	_ = unstructured.SetNestedField(after.Object, "Completed", "status", "phase")

	names := status.FieldNames{StartedAt: "startTime", FinishedAt: "completionTime", UpdatedAt: "-"}
	patch, err := names.Patch(backup, after, status.Facts{Progress: status.Done, StartedAt: noon.Add(-time.Hour)}, noon)
	fmt.Println(string(patch), err)
	// Output:
	// {"metadata":{"resourceVersion":"7"},"status":{"completionTime":"2025-06-01T12:00:00Z","observedGeneration":1,"phase":"Completed","startTime":"2025-06-01T11:00:00Z"}} <nil>
}

func ExampleStamp_Observe() {
	var s status.Stamp
	show := func(changed bool, err error) {
		fmt.Println(changed, s.ObservedGeneration, s.StartedAt != nil, s.FinishedAt != nil, err)
	}
	show(s.Observe(status.Facts{Progress: status.Running}, 1, noon))
	show(s.Observe(status.Facts{Progress: status.Running}, 1, noon.Add(time.Minute)))
	show(s.Observe(status.Facts{Progress: status.Done}, 1, noon.Add(time.Hour)))
	show(s.Observe(status.Facts{Progress: status.Done}, 2, noon.Add(2*time.Hour)))
	show(s.Observe(status.Facts{Progress: status.Done}, 1, noon.Add(3*time.Hour)))
	// Output:
	// true 1 true false <nil>
	// false 1 true false <nil>
	// true 1 true true <nil>
	// true 2 true true <nil>
	// false 2 true true status: a newer generation is already recorded: 2 is stored, and this reconcile acted on 1
}

func ExampleSetCondition() {
	var conds []metav1.Condition
	c := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "image pull failed", Message: "no such tag"}
	fmt.Println(status.SetCondition(&conds, c, noon))
	fmt.Println(status.SetCondition(&conds, c, noon.Add(time.Hour)), conds[0].Reason, conds[0].LastTransitionTime.UTC())
	// Output:
	// true
	// false image_pull_failed 2025-06-01 12:00:00 +0000 UTC
}

// Recovery clears what had failed, without a list of what that may have been.
func ExampleWriter_SetConditions() {
	w := status.Writer{Owned: []string{"Ready", "InvalidSpec", "Unreachable"}}
	var conds []metav1.Condition
	w.SetConditions(&conds, noon,
		metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "InvalidSpec"},
		metav1.Condition{Type: "InvalidSpec", Status: metav1.ConditionTrue, Reason: "MissingImage"},
	)
	fmt.Println(typesOf(conds))
	w.SetConditions(&conds, noon, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Running"})
	fmt.Println(typesOf(conds))
	// Output:
	// [Ready InvalidSpec]
	// [Ready]
}

// runs is a typed client such as clientset.ExampleV1().Runs(namespace).
type runs func(patch string, subresources []string) (*Run, error)

func (r runs) Patch(_ context.Context, _ string, _ types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string) (*Run, error) {
	return r(string(data), subresources)
}

func ExampleWriter_Commit() {
	client := runs(func(patch string, subresources []string) (*Run, error) {
		fmt.Println(subresources, len(patch) > 0)
		return &Run{}, nil
	})
	w := status.ForResource(func(string) runs { return client })
	w.FieldManager, w.Heartbeat = "run-controller", 10*time.Minute

	before := stored()
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	result, err := w.Commit(context.Background(), before, after, status.Facts{Progress: status.Running})
	fmt.Println(result, err)

	result, err = w.Commit(context.Background(), after, after.DeepCopy(), status.Facts{Progress: status.Running})
	fmt.Println(result, err)
	// Output:
	// [status] true
	// written <nil>
	// unchanged <nil>
}

// A reconcile asks before its work whether the cache shows the last write.
func ExampleWriter_IsStale() {
	s := newServer(nil)
	s.create("build")
	w := status.ForClient(runtimeClient{s})

	cached := &Run{ObjectMeta: metav1.ObjectMeta{Name: "build", UID: "uid-1", ResourceVersion: "1", Generation: 1}}
	fmt.Println(w.IsStale(cached))
	after := cached.DeepCopy()
	after.Status.Phase = "Running"
	_, err := w.Commit(context.Background(), cached, after)
	fmt.Println(w.IsStale(cached), w.IsStale(after), err)
	// Output:
	// false
	// true false <nil>
}

// For an informer's filter or a predicate: the controller's own status writes
// cause no reconcile.
func ExampleNeedsReconcile() {
	before := stored()
	wrote := before.DeepCopy()
	wrote.ResourceVersion, wrote.Status.Phase = "42", "Running"
	fmt.Println("status written:", status.NeedsReconcile(before, wrote))

	edited := wrote.DeepCopy()
	edited.ResourceVersion, edited.Generation = "43", 3
	fmt.Println("spec edited:", status.NeedsReconcile(wrote, edited))
	// Output:
	// status written: false
	// spec edited: true
}

// A Writer for a typed client of client-go, or its fake, is built from the
// method that returns the client of a namespace.
func ExampleForResource() {
	clientset := func(_ string) runs { // such as clientset.ExampleV1().Runs
		return func(string, []string) (*Run, error) { return &Run{}, nil }
	}
	w := status.ForResource(clientset)
	before := stored()
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	result, err := w.Commit(context.Background(), before, after, status.Facts{Progress: status.Running})
	fmt.Println(result, err)
	// Output: written <nil>
}
