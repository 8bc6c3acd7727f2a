// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Client reads and writes the objects of one type in a namespace. It has the
// methods of client-go's typed clients.
type Client[T any, P Typed[T]] struct {
	api       *API
	resource  string
	namespace string
}

// Typed is a pointer to a Go type of the API.
type Typed[T any] interface {
	copier[T]
	metav1.Object
}

// NewClient returns a client of the objects of a resource, such as jobs.batch,
// in a namespace.
func NewClient[T any, P Typed[T]](api *API, resource, namespace string) Client[T, P] {
	return Client[T, P]{api, resource, namespace}
}

func (c Client[T, P]) key(name string) Key { return Key{c.resource, c.namespace, name} }

// Create creates an object.
func (c Client[T, P]) Create(ctx context.Context, obj P, _ metav1.CreateOptions) (P, error) {
	return c.write(ctx, "create", "", obj)
}

// Update replaces an object, and not its status if that is a subresource.
func (c Client[T, P]) Update(ctx context.Context, obj P, _ metav1.UpdateOptions) (P, error) {
	return c.write(ctx, "update", "", obj)
}

// UpdateStatus replaces the status of an object.
func (c Client[T, P]) UpdateStatus(ctx context.Context, obj P, _ metav1.UpdateOptions) (P, error) {
	return c.write(ctx, "update", "status", obj)
}

func (c Client[T, P]) write(ctx context.Context, verb, subresource string, obj P) (P, error) {
	body, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, Request{Verb: verb, Key: c.key(obj.GetName()), Subresource: subresource, Body: body})
}

// Get reads an object from the API server.
func (c Client[T, P]) Get(ctx context.Context, name string, _ metav1.GetOptions) (P, error) {
	return c.do(ctx, Request{Verb: "get", Key: c.key(name)})
}

// List reads the objects from the API server.
func (c Client[T, P]) List(ctx context.Context) ([]T, error) {
	answer, err := c.api.Do(ctx, Request{Verb: "list", Key: c.key("")})
	if err != nil {
		return nil, err
	}
	var list []T
	for _, o := range answer.List {
		item, err := As[T, P](o)
		if err != nil {
			return nil, err
		}
		list = append(list, *item)
	}
	return list, nil
}

// Patch changes an object by a merge patch or a JSON patch.
func (c Client[T, P]) Patch(
	ctx context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions,
	subresources ...string,
) (P, error) {
	r := Request{Verb: "patch", Key: c.key(name), PatchType: kind, Body: data}
	if len(subresources) > 0 {
		r.Subresource = subresources[0]
	}
	return c.do(ctx, r)
}

// Delete deletes an object.
func (c Client[T, P]) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	_, err := c.api.Do(ctx, Request{Verb: "delete", Key: c.key(name), Delete: o})
	return err
}

func (c Client[T, P]) do(ctx context.Context, r Request) (P, error) {
	answer, err := c.api.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	return As[T, P](answer.Object)
}

// Cached reads an object of a resource from the cache.
func Cached[T any, P Typed[T]](api *API, resource, namespace, name string) (P, error) {
	o, err := api.Cached(Key{resource, namespace, name})
	if err != nil {
		return nil, err
	}
	return As[T, P](o)
}
