// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replay plays reconcilers of controller-runtime in the small cluster
// of internal/world: through kills, stale caches, lost answers and a second
// replica.
package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/internal/world"
)

// Client is the client of a manager. It reads from the caches of a process, and
// kinds that are not cached from the API server. A cached read shows at least
// the process' own writes, as with ReadYourWritesConsistency. The methods
// that are not here panic.
type Client struct {
	client.Client

	api       *world.API
	scheme    *runtime.Scheme
	resources map[string]string // by kind
	cached    []string          // resources
	own       map[world.Key]*world.Object
}

// NewClient returns the client of a process. Resources has the resource of each
// kind.
func NewClient(
	api *world.API, scheme *runtime.Scheme, resources map[string]string, cached ...string,
) *Client {
	return &Client{
		api: api, scheme: scheme, resources: resources, cached: cached, own: map[world.Key]*world.Object{},
	}
}

// Live returns a reader that does not use the caches.
//
//nolint:ireturn // what a controller calls its live reader
func (c *Client) Live() client.Reader {
	return &Client{api: c.api, scheme: c.scheme, resources: c.resources, own: map[world.Key]*world.Object{}}
}

// Memory describes the own writes that the caches do not show yet.
func (c *Client) Memory() string {
	var lines []string
	for key, own := range c.own {
		if c.api.IsUnseen(own) {
			lines = append(lines, fmt.Sprintf("%s %x", key, own.JSON))
		}
	}
	return strings.Join(slices.Sorted(slices.Values(lines)), "\n")
}

// Scheme returns the types that the client knows.
func (c *Client) Scheme() *runtime.Scheme { return c.scheme }

func (c *Client) key(obj client.Object) (world.Key, error) {
	kinds, _, err := c.scheme.ObjectKinds(obj)
	if err != nil {
		return world.Key{}, err
	}
	resource, ok := c.resources[kinds[0].Kind]
	if !ok {
		return world.Key{}, fmt.Errorf("replay: the kind %s has no resource; want one of %v",
			kinds[0].Kind, slices.Sorted(maps.Keys(c.resources)))
	}
	return world.Key{Resource: resource, Namespace: obj.GetNamespace(), Name: obj.GetName()}, nil
}

// Get reads an object.
func (c *Client) Get(
	ctx context.Context, name client.ObjectKey, obj client.Object, _ ...client.GetOption,
) error {
	key, err := c.key(obj)
	if err != nil {
		return err
	}
	key.Namespace = name.Namespace
	key.Name = name.Name
	if !slices.Contains(c.cached, key.Resource) {
		return c.do(ctx, world.Request{Verb: "get", Key: key}, obj)
	}
	shown, err := c.api.Cached(key)
	own := c.own[key]
	if own != nil && c.api.IsUnseen(own) {
		shown = own
		err = nil
	}
	if err != nil {
		return err
	}
	return decode(shown, obj)
}

// decode replaces all of obj.
func decode(o *world.Object, obj client.Object) error {
	value := reflect.ValueOf(obj).Elem()
	value.SetZero()
	return json.Unmarshal(o.JSON, obj)
}

// Create creates an object.
func (c *Client) Create(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
	return c.write(ctx, "create", "", obj)
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	key, err := c.key(obj)
	if err != nil {
		return err
	}
	options := new(client.DeleteOptions)
	options.ApplyOptions(opts)
	_, err = c.api.Do(ctx, world.Request{Verb: "delete", Key: key, Delete: *options.AsDeleteOptions()})
	delete(c.own, key)
	return err
}

// Update replaces an object.
func (c *Client) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return c.write(ctx, "update", "", obj)
}

// Patch patches an object.
func (c *Client) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption,
) error {
	return c.patch(ctx, obj, patch, "")
}

// Status returns the client of the status subresource.
//
//nolint:ireturn // the interface asks for it
func (c *Client) Status() client.SubResourceWriter { return statusClient{c} }

func (c *Client) write(ctx context.Context, verb, subresource string, obj client.Object) error {
	key, err := c.key(obj)
	if err != nil {
		return err
	}
	body, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	return c.do(ctx, world.Request{Verb: verb, Key: key, Subresource: subresource, Body: body}, obj)
}

func (c *Client) patch(ctx context.Context, obj client.Object, patch client.Patch, subresource string) error {
	key, err := c.key(obj)
	if err != nil {
		return err
	}
	body, err := patch.Data(obj)
	if err != nil {
		return err
	}
	return c.do(ctx, world.Request{
		Verb: "patch", Key: key, Subresource: subresource, Body: body, PatchType: patch.Type(),
	}, obj)
}

// do sends a request and decodes the answer.
func (c *Client) do(ctx context.Context, r world.Request, obj client.Object) error {
	answer, err := c.api.Do(ctx, r)
	if err != nil {
		return err
	}
	if r.Verb != "get" {
		c.own[r.Key] = answer.Object
	}
	return decode(answer.Object, obj)
}

// statusClient writes the status subresource.
type statusClient struct{ c *Client }

func (s statusClient) Create(
	context.Context, client.Object, client.Object, ...client.SubResourceCreateOption,
) error {
	return fmt.Errorf("replay: the status subresource has no create")
}

func (s statusClient) Update(
	ctx context.Context, obj client.Object, _ ...client.SubResourceUpdateOption,
) error {
	return s.c.write(ctx, "update", "status", obj)
}

func (s statusClient) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption,
) error {
	return s.c.patch(ctx, obj, patch, "status")
}

func (s statusClient) Apply(
	context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption,
) error {
	return fmt.Errorf("replay: apply is not served")
}
