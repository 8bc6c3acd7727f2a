// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/status"
)

// attempt is one request on an object whose status is the stored one.
type attempt func(t *testing.T, c dynamic.ResourceInterface, names names) error

// names are what the kind calls its times.
type names struct{ start, end string }

// in puts the names into JSON.
func (n names) in(text string) []byte {
	return []byte(strings.NewReplacer("START", n.start, "END", n.end).Replace(text))
}

func (n names) object(t *testing.T, text string) (fields object) {
	t.Helper()
	require.NoError(t, json.Unmarshal(n.in(text), &fields))
	return fields
}

// stamp reads what is stored, as Check takes it.
func (n names) stamp(t *testing.T, c dynamic.ResourceInterface) status.Stamp {
	t.Helper()
	u, err := c.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	stamp, err := status.Names{StartedAt: n.start, FinishedAt: n.end}.Stamp(u)
	require.NoError(t, err)
	return stamp
}

// merge patches the status.
func merge(patch string) attempt { return patchStatus(types.MergePatchType, patch) }

// jsonPatch patches the status by operations.
func jsonPatch(patch string) attempt { return patchStatus(types.JSONPatchType, patch) }

func patchStatus(pt types.PatchType, patch string) attempt {
	return func(t *testing.T, c dynamic.ResourceInterface, n names) error {
		t.Helper()
		_, err := c.Patch(t.Context(), "a", pt, n.in(patch), metav1.PatchOptions{}, "status")
		return err
	}
}

// apply is a server-side apply by one who takes over all that others set.
func apply(fields string) attempt {
	return func(t *testing.T, c dynamic.ResourceInterface, n names) error {
		t.Helper()
		u, err := c.Get(t.Context(), "a", metav1.GetOptions{})
		require.NoError(t, err)
		u.Object["status"] = n.object(t, fields)
		u.SetManagedFields(nil)
		u.SetResourceVersion("")
		_, err = c.ApplyStatus(t.Context(), "a", u, metav1.ApplyOptions{FieldManager: "other", Force: true})
		return err
	}
}

// put replaces the status by one with other fields; "" leaves it out.
func put(fields string) attempt {
	return func(t *testing.T, c dynamic.ResourceInterface, n names) error {
		t.Helper()
		u := read(t, c, n, fields)
		_, err := c.UpdateStatus(t.Context(), u, metav1.UpdateOptions{})
		return err
	}
}

// putObject replaces the object itself.
func putObject(fields string) attempt {
	return func(t *testing.T, c dynamic.ResourceInterface, n names) error {
		t.Helper()
		u := read(t, c, n, fields)
		u.Object["spec"] = object{"image": "new"}
		_, err := c.Update(t.Context(), u, metav1.UpdateOptions{})
		return err
	}
}

func read(t *testing.T, c dynamic.ResourceInterface, n names, fields string) *unstructured.Unstructured {
	t.Helper()
	u, err := c.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	delete(u.Object, "status")
	if fields != "" {
		u.Object["status"] = n.object(t, fields)
	}
	return u
}

func mergeObject(patch string) attempt {
	return func(t *testing.T, c dynamic.ResourceInterface, _ names) error {
		t.Helper()
		_, err := c.Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

func remove(t *testing.T, c dynamic.ResourceInterface, _ names) error {
	t.Helper()
	return c.Delete(t.Context(), "a", metav1.DeleteOptions{})
}
