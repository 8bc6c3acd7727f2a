// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/status"
)

// server answers patches as an API server does: versions, conflicts, uids,
// generations, a status subresource, and no write where nothing changes. It
// keeps JSON, so that every client reads what really was stored.
type server struct {
	t        *testing.T
	mu       sync.Mutex
	objects  map[string]map[string]any
	version  int64
	requests []string                       // "status {…}"
	writes   int                            // that changed something
	before   func(name string, data []byte) // called without the lock, before each patch; nil for none
	stored   func(o map[string]any)         // called with the lock, after each write; nil for none
	noStatus bool                           // the kind has no status subresource
	prunes   []string                       // fields of the status that the schema does not declare
	defaults map[string]any                 // fields of the status that the schema defaults
	requires []string                       // fields that the schema requires in a status
	refuses  func(status map[string]any) error
	writer   *status.Writer // of commit
}

func newServer(t *testing.T) *server { //nolint:thelper // it is kept, not used here
	return &server{t: t, objects: map[string]map[string]any{}}
}

// create stores an object of generation 1 with a new uid.
func (s *server) create(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	v := strconv.FormatInt(s.version, 10)
	s.objects[name] = map[string]any{
		"apiVersion": "example.com/v1", "kind": "Run", "spec": map[string]any{},
		"metadata": map[string]any{"name": name, "uid": "uid-" + v, "generation": int64(1), "resourceVersion": v},
	}
}

func (s *server) delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
}

// respec changes the spec.
func (s *server) respec(name, image string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[name]
	o["spec"] = map[string]any{"image": image}
	m := o["metadata"].(map[string]any)
	m["generation"] = m["generation"].(int64) + 1
	s.bump(o)
}

// relabel sets a label, as a user does.
func (s *server) relabel(name, key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[name]
	o["metadata"].(map[string]any)["labels"] = map[string]any{key: value}
	s.bump(o)
}

// restatus merges JSON into the status, as another writer does.
func (s *server) restatus(name, patch string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NoError(s.t, s.apply(name, []byte(`{"status":`+patch+`}`), true))
}

func (s *server) bump(o map[string]any) {
	s.version++
	s.writes++
	o["metadata"].(map[string]any)["resourceVersion"] = strconv.FormatInt(s.version, 10)
	if s.stored != nil {
		s.stored(o)
	}
}

// admit holds a status to the schema.
func (s *server) admit(name string, status map[string]any) error {
	for _, field := range s.prunes {
		delete(status, field)
	}
	for field, value := range s.defaults {
		if status[field] == nil {
			status[field] = value
		}
	}
	if s.refuses != nil {
		err := s.refuses(status)
		if err != nil {
			return err
		}
	}
	var missing field.ErrorList
	for _, name := range s.requires {
		if status[name] == nil {
			missing = append(missing, field.Required(field.NewPath("status", name), ""))
		}
	}
	if missing != nil {
		return apierrors.NewInvalid(schema.GroupKind{Group: "example.com", Kind: "Run"}, name, missing)
	}
	return nil
}

func (s *server) apply(name string, data []byte, sub bool) error {
	o := s.objects[name]
	var patch map[string]any
	if err := utiljson.Unmarshal(data, &patch); err != nil { // whole numbers become int64
		return apierrors.NewBadRequest(err.Error())
	}
	if !sub {
		delete(patch, "status")
	}
	was := o["status"]
	now := mergePatch(was, patch["status"])
	m, ok := now.(map[string]any)
	if ok {
		err := s.admit(name, m)
		if err != nil {
			return err
		}
	}
	if patch["status"] != nil && !reflect.DeepEqual(was, now) {
		o["status"] = now
		s.bump(o)
	}
	return nil
}

func (s *server) patch(ctx context.Context, name string, data []byte, sub bool) ([]byte, error) {
	s.mu.Lock()
	hook := s.before
	s.mu.Unlock()
	if hook != nil {
		hook(name, data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.requests = append(s.requests, map[bool]string{true: "status ", false: ""}[sub]+string(data))
	gr := schema.GroupResource{Group: "example.com", Resource: "runs"}
	o := s.objects[name]
	if o == nil || sub && s.noStatus {
		return nil, apierrors.NewNotFound(gr, name)
	}
	var pin struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(data, &pin); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if v := pin.Metadata.ResourceVersion; v != "" && v != o["metadata"].(map[string]any)["resourceVersion"] {
		return nil, apierrors.NewConflict(gr, name, fmt.Errorf("the object has been modified"))
	}
	if err := s.apply(name, data, sub); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

// mergePatch is RFC 7386.
func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, _ := target.(map[string]any)
	t = maps.Clone(t)
	if t == nil {
		t = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(t, k)
		} else {
			t[k] = mergePatch(t[k], v)
		}
	}
	return t
}

// sent counts the requests since the last call.
func (s *server) sent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.requests = nil
	return n
}

// get reads an object as a client of T does.
func get[T any](t *testing.T, s *server, name string) *T {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Contains(t, s.objects, name)
	raw, err := json.Marshal(s.objects[name])
	require.NoError(t, err)
	o, err := decode[T](raw)
	require.NoError(t, err)
	return o
}

func decode[T any](raw []byte) (*T, error) {
	o := new(T)
	if u, ok := any(o).(*unstructured.Unstructured); ok {
		return o, u.UnmarshalJSON(raw) // whole numbers become int64, as in client-go
	}
	return o, json.Unmarshal(raw, o)
}

// client is a client of the server for the kind T.
type client[T any] struct{ *server }

func (c client[T]) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions, sub ...string) (*T, error) {
	if pt != types.MergePatchType {
		return nil, apierrors.NewBadRequest("want a merge patch")
	}
	raw, err := c.patch(ctx, name, data, len(sub) == 1 && sub[0] == "status")
	if err != nil {
		return nil, err
	}
	return decode[T](raw)
}

// patching is the shortest fake: its function gets the data and the
// subresource.
func patching(f func(data []byte, sub ...string) (*Run, error)) patchFunc[*Run] {
	return func(_ context.Context, _ string, _ types.PatchType, data []byte, _ metav1.PatchOptions, sub ...string) (*Run, error) {
		return f(data, sub...)
	}
}

var _ status.Object = &Run{}

// patchFunc is the Patch method of a client, as a client.
type patchFunc[T any] func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)

func (f patchFunc[T]) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string) (T, error) {
	return f(ctx, name, pt, data, opts, sub...)
}

// via returns a Writer with the settings of w that sends by patch.
func via[T status.Object](patch patchFunc[T], w status.Writer) status.Writer {
	out := status.ForResource(func(string) patchFunc[T] { return patch })
	out.FieldNames, out.Owned, out.FieldManager, out.Heartbeat = w.FieldNames, w.Owned, w.FieldManager, w.Heartbeat
	out.Redact, out.OnCommit = w.Redact, w.OnCommit
	return out
}

// commit sends by a Writer that lives as long as the server.
func commit[T any, P interface {
	*T
	status.Object
}](t *testing.T, s *server, before, after P, f status.Facts) (status.Result, error) {
	t.Helper()
	if s.writer == nil {
		w := status.ForResource(func(string) typedClient[T, P] { return typedClient[T, P]{s} })
		s.writer = &w
	}
	return s.writer.Commit(t.Context(), before, after, f)
}

// typedClient is a client whose T is known to be an object.
type typedClient[T any, P interface {
	*T
	status.Object
}] struct{ *server }

func (c typedClient[T, P]) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string) (P, error) {
	return client[T](c).Patch(ctx, name, pt, data, opts, sub...)
}

// later calls f at a time after noon.
func later(t *testing.T, after time.Duration, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(noon.Add(after)))
		f(t)
	})
}
