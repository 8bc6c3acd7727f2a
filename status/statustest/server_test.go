// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// server stores objects of one kind like an API server: with versions,
// generations, a status subresource, and a schema of the status. That prunes
// typo, has a default for mode, requires verdict, which may be null, and total,
// and has a limit for phase.
type server struct {
	objects map[string]map[string]any
	version int
	lax     bool // an outdated resourceVersion is not a conflict
}

var builds = schema.GroupResource{Group: "example.com", Resource: "builds"}

func newServer() *server { return &server{objects: map[string]map[string]any{}} }

// create creates a Build.
func (s *server) create() map[string]any {
	number := strconv.Itoa(len(s.objects))
	o := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Build", "spec": map[string]any{"image": "a"},
		"metadata": map[string]any{"name": "a" + number, "uid": "uid-" + number, "generation": int64(1)},
	}
	s.objects["a"+number] = o
	s.bump(o)
	return o
}

func (s *server) bump(o map[string]any) {
	s.version++
	o["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(s.version)
}

// patch applies a merge patch, and returns the stored object.
func (s *server) patch(name string, data []byte, ofStatus bool) (map[string]any, error) {
	o := s.objects[name]
	if o == nil {
		return nil, apierrors.NewNotFound(builds, name)
	}
	var patch map[string]any
	err := utiljson.Unmarshal(data, &patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	pinned, _, _ := unstructured.NestedString(patch, "metadata", "resourceVersion")
	stored, _, _ := unstructured.NestedString(o, "metadata", "resourceVersion")
	if pinned != "" && pinned != stored && !s.lax {
		return nil, apierrors.NewConflict(builds, name, errors.New("the object has been modified"))
	}
	part := "spec"
	if ofStatus {
		part = "status"
	}
	is := mergePatch(o[part], patch[part])
	if ofStatus && patch[part] != nil {
		err = conform(is.(map[string]any))
		if err != nil {
			return nil, err
		}
	}
	labels, hasLabels, _ := unstructured.NestedMap(patch, "metadata", "labels")
	switch {
	case hasLabels && !ofStatus:
		o["metadata"].(map[string]any)["labels"] = labels
	case patch[part] == nil, reflect.DeepEqual(o[part], is):
		return o, nil
	}
	if patch[part] != nil {
		o[part] = is
		if !ofStatus {
			o["metadata"].(map[string]any)["generation"] = o["metadata"].(map[string]any)["generation"].(int64) + 1
		}
	}
	s.bump(o)
	return o, nil
}

// conform makes fields what the schema allows.
func conform(fields map[string]any) error {
	delete(fields, "typo")
	if fields["mode"] == nil {
		fields["mode"] = "Auto"
	}
	var wrong field.ErrorList
	for _, name := range []string{"verdict", "total"} {
		if fields[name] == nil {
			wrong = append(wrong, field.Required(field.NewPath("status", name), ""))
		}
	}
	phase, _ := fields["phase"].(string)
	if len(phase) > 9 {
		wrong = append(wrong, field.TooLong(field.NewPath("status", "phase"), "", 9))
	}
	if wrong != nil {
		return apierrors.NewInvalid(schema.GroupKind{Group: "example.com", Kind: "Build"}, "a", wrong)
	}
	return nil
}

// mergePatch is RFC 7386.
func mergePatch(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	was, _ := target.(map[string]any)
	is := maps.Clone(was)
	if is == nil {
		is = map[string]any{}
	}
	for name, value := range fields {
		if value == nil {
			delete(is, name)
		} else {
			is[name] = mergePatch(is[name], value)
		}
	}
	return is
}

// resource is a client of the server for the kind T.
type resource[T any, P interface {
	*T
	status.Object
}] struct{ *server }

// Patch is the method that status.ForResource needs.
func (r resource[T, P]) Patch(
	_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string,
) (P, error) {
	o, err := r.patch(name, data, len(subresources) > 0)
	if err != nil {
		return nil, err
	}
	return r.decode(o)
}

func (r resource[T, P]) decode(o map[string]any) (P, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	out := new(T)
	u, isUntyped := any(out).(*unstructured.Unstructured)
	if isUntyped {
		return out, u.UnmarshalJSON(raw)
	}
	return out, json.Unmarshal(raw, out)
}

// kind returns the kind with the client, but without its fields.
func (r resource[T, P]) kind() statustest.Kind[P] {
	return statustest.Kind[P]{
		Writer: status.ForResource(func(string) resource[T, P] { return r }).At(noon),
		Create: func(t *testing.T) P {
			t.Helper()
			o, err := r.decode(r.create())
			require.NoError(t, err)
			return o
		},
		Get: func(_ context.Context, o P) (P, error) { return r.decode(r.objects[o.GetName()]) },
		Patch: func(_ context.Context, o status.Object, subresource string, data []byte) error {
			_, err := r.patch(o.GetName(), data, subresource == "status")
			return err
		},
		Spec: `{"image":"other"}`,
	}
}
