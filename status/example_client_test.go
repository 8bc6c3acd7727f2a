// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// objectClient has the shape of controller-runtime's client.Client, whose Patch takes an object and fills it in:
//
//	c.Status().Patch(ctx, run, client.RawPatch(pt, data))
type objectClient struct{}

func (objectClient) PatchStatus(_ context.Context, run *Run, pt types.PatchType, data []byte) error {
	fmt.Println(run.Namespace+"/"+run.Name, pt, len(data) > 2)
	return nil
}

// A client that takes objects, such as controller-runtime's, needs a closure of two statements. Each call fills an object of its own.
func ExamplePatchFunc() {
	c := objectClient{}
	before := stored()
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	patch := func(ctx context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*Run, error) {
		live := &Run{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: name}}
		return live, c.PatchStatus(ctx, live, pt, data)
	}
	result, err := status.Writer[*Run]{}.Commit(context.Background(), patch, before, after, status.Facts{Progress: status.Running})
	fmt.Println(result, err)
	// Output:
	// ci/build application/merge-patch+json true
	// written <nil>
}
