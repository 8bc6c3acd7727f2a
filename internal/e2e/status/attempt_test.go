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

// attempt is a request on an object with the stored status.
type attempt func(t *testing.T, c dynamic.ResourceInterface, names names) error

// names are the kind's names of the times.
type names struct{ start, end string }

// in inserts the names into JSON.
func (n names) in(text string) []byte {
	return []byte(strings.NewReplacer("START", n.start, "END", n.end).Replace(text))
}

func (n names) object(t *testing.T, text string) (fields object) {
	t.Helper()
	require.NoError(t, json.Unmarshal(n.in(text), &fields))
	return fields
}

// stamp reads the stored status as a Stamp for Check.
func (n names) stamp(t *testing.T, c dynamic.ResourceInterface) status.Stamp {
	t.Helper()
	u, err := c.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	stamp, err := status.FieldNames{StartedAt: n.start, FinishedAt: n.end}.Stamp(u)
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

// apply is a server-side apply that takes over the fields of other owners.
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

// put replaces the status. "" sends no status.
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
