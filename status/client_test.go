// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// The types below have the shape of controller-runtime's client package.
// examples/migrate and examples/controller-runtime compile and run with
// the real one.

type clientObject interface {
	metav1.Object
	runtime.Object
}

type clientPatch interface {
	Type() types.PatchType
	Data(obj clientObject) ([]byte, error)
}

type (
	patchOption       interface{ applyToPatch() }
	statusPatchOption interface{ applyToStatusPatch() }
)

type statusWriter interface {
	Patch(ctx context.Context, o clientObject, p clientPatch, opts ...statusPatchOption) error
}

// anyClient is the interface that reconcilers embed.
type anyClient interface {
	Patch(ctx context.Context, o clientObject, p clientPatch, opts ...patchOption) error
	Status() statusWriter
}

// runtimeClient fills the object that it is given.
type runtimeClient struct{ *server }

func (c runtimeClient) Status() statusWriter { return subresourceClient(c) }

func (c runtimeClient) Patch(ctx context.Context, o clientObject, p clientPatch, _ ...patchOption) error {
	return c.do(ctx, o, p, false)
}

type subresourceClient struct{ *server }

func (c subresourceClient) Patch(ctx context.Context, o clientObject, p clientPatch, _ ...statusPatchOption) error {
	return runtimeClient(c).do(ctx, o, p, true)
}

func (c runtimeClient) do(ctx context.Context, o clientObject, p clientPatch, sub bool) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	if c.t != nil {
		require.Equal(c.t, types.MergePatchType, p.Type())
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		require.Equal(c.t, "Run", u.GetKind(), "a client finds the resource by the kind")
	}
	raw, err := c.patch(ctx, o.GetName(), data, sub)
	if err != nil {
		return err
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.UnmarshalJSON(raw)
	}
	return json.Unmarshal(raw, o)
}

func TestForClient_WritesTypedAndUnstructured(t *testing.T) {
	s, before := start(t)
	w := status.ForClient(runtimeClient{s})

	after := before.DeepCopy()
	after.Status.Phase = "Running"
	s.relabel("a", "owner", "user")
	result, err := w.Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	assert.Equal(t, get[Run](t, s, "a").ObjectMeta, after.ObjectMeta)

	loose := get[unstructured.Unstructured](t, s, "a")
	next := loose.DeepCopy()
	require.NoError(t, unstructured.SetNestedField(next.Object, "Succeeded", "status", "phase"))
	result, err = w.Commit(t.Context(), loose, next, done)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	assert.Equal(t, "Succeeded", get[Run](t, s, "a").Status.Phase)
}

func TestForClient_TellsGoneFromNoStatusSubresource(t *testing.T) {
	s, before := start(t)
	w := status.ForClient(runtimeClient{s})
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	s.noStatus = true
	_, err := w.Commit(t.Context(), before, after, running)
	require.ErrorContains(t, err, "no status subresource")

	s.delete("a")
	result, err := w.Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Gone, result)
}

func TestForClient_RefusesWhatItCannotDo(t *testing.T) {
	s, before := start(t)
	after := before.DeepCopy()
	after.Status.Phase = "Running"

	w := status.ForClient(runtimeClient{s})
	w.FieldManager = "runs"
	_, err := w.Commit(t.Context(), before, after, running)
	require.ErrorContains(t, err, "client.WithFieldOwner")

	w = status.ForClient(anyClient(nil))
	_, err = w.Commit(t.Context(), before, after, running)
	require.ErrorContains(t, err, "the Writer has no client")

	w = status.ForClient(strangeClient{})
	_, err = w.Commit(t.Context(), before, after, running)
	require.ErrorContains(t, err, "status: commit: the client of ForClient takes patches of type string; want controller-runtime's client.Patch")

	w = status.ForResource((func(string) typedClient[Report, *Report])(nil))
	_, err = w.Commit(t.Context(), before, after, running)
	require.ErrorContains(t, err, "the Writer has no client")

	w = status.ForResource(func(string) typedClient[Report, *Report] { return typedClient[Report, *Report]{s} })
	_, err = w.Commit(t.Context(), before, after, running)
	require.ErrorContains(t, err, "the client returned a *status_test.Report; want a *status_test.Run")
	assert.Zero(t, s.sent()-1)
}

// TestForClient_SendsTheNamespace: a client finds an object by it.
func TestForClient_SendsTheNamespace(t *testing.T) {
	before := bigRun()
	_, err := status.ForClient(namespaceClient{}).Commit(t.Context(), before, withPhase(before, "Stopping"), running)
	require.ErrorContains(t, err, "the namespace is ci")
}

type namespaceClient struct{}

func (namespaceClient) Patch(_ context.Context, o clientObject, _ clientPatch, _ ...int) error {
	return fmt.Errorf("the namespace is %s", o.GetNamespace())
}
func (c namespaceClient) Status() namespaceClient { return c }

// strangeClient has the methods of controller-runtime's client with other
// types.
type strangeClient struct{}

func (strangeClient) Patch(context.Context, clientObject, string, ...int) error { return nil }
func (c strangeClient) Status() strangeClient                                   { return c }

// With controller-runtime, c is the manager's client.
func ExampleForClient() {
	s := newServer(nil)
	s.create("build")
	c := anyClient(runtimeClient{s})

	w := status.ForClient(c)
	w.Owned = []string{"Ready"}

	before := &Run{ObjectMeta: metav1.ObjectMeta{Name: "build", UID: "uid-1", ResourceVersion: "1", Generation: 1}}
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	result, err := w.Commit(context.Background(), before, after, status.Facts{Progress: status.Running})
	fmt.Println(result, err, after.ResourceVersion)
	// Output: written <nil> 2
}

type nilClient interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*Run, error)
}

func TestForResource_NilClientIsAnError(t *testing.T) {
	before := bigRun()
	after := before.DeepCopy()
	after.Status.Phase = "Other"
	_, err := status.ForResource(func(string) nilClient { return nil }).Commit(t.Context(), before, after, status.Facts{})
	require.ErrorContains(t, err, `the client of namespace "`)
}
