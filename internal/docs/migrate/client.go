// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// runs makes a status.Client of controller-runtime's client.
type runs struct {
	client.Client
	namespace string
}

// Patch sends a status patch.
func (c runs) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*Run, error) {
	run := &Run{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}}
	return run, c.Status().Patch(ctx, run, client.RawPatch(pt, data))
}
