// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ourMemory is a client whose requests cost nothing, so that what is measured
// is the work of the library alone. It counts them, and answers with the same
// object.
type ourMemory[T any] struct {
	reply T
	asked int64
}

// Patch makes it the client that status.Writer asks for.
func (m *ourMemory[T]) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error) { //nolint:unparam // so asks the interface
	m.asked++
	return m.reply, nil
}

// theirMemory is the same for code that is written against controller-runtime's
// client. That code computes a patch when the client asks for its bytes, so
// theirMemory asks. It decodes the reply into no object, which favours the
// peers. A Get makes no request: a manager's client reads from its cache.
type theirMemory struct {
	cache
	client.Client // nil: a method that is not written here is not used

	scheme *runtime.Scheme
	asked  int64
}

func newMemory() *theirMemory { return &theirMemory{cache: cache{stored: bigRun()}, scheme: scheme()} }

// Scheme knows Run.
func (m *theirMemory) Scheme() *runtime.Scheme { return m.scheme }

// GroupVersionKindFor is asked by none but may be.
func (m *theirMemory) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return runKind, nil
}

// Get copies the stored Run.
func (m *theirMemory) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return m.cache.Get(ctx, key, obj, opts...)
}

// Patch computes the patch.
func (m *theirMemory) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	m.asked++
	_, err := patch.Data(obj)
	return err
}

// Status is the client of the subresource.
//
//nolint:ireturn // client.Client asks for it
func (m *theirMemory) Status() client.SubResourceWriter { return subresource{memory: m} }

type subresource struct {
	client.SubResourceWriter // nil

	memory *theirMemory
}

// Patch computes the patch.
func (s subresource) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	s.memory.asked++
	_, err := patch.Data(obj)
	return err
}

// scheme knows Run and what every group has.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(runKind, &Run{})
	metav1.AddToGroupVersion(s, group)
	return s
}
