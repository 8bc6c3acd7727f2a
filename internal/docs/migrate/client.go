// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/status"
)

// patchRun is controller-runtime's status patch as a status.PatchFunc.
func patchRun(c client.Client, namespace string) status.PatchFunc[*Run] {
	return func(ctx context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*Run, error) {
		run := &Run{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		return run, c.Status().Patch(ctx, run, client.RawPatch(pt, data))
	}
}
