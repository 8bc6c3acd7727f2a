// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// attempt is a request on an object with the stored status.
type attempt func(t *testing.T, c dynamic.ResourceInterface, kind names) error

// names are the kind and its names of the times.
type names struct{ kind, start, end string }

// in inserts the names into JSON.
func (n names) in(text string) []byte {
	return []byte(strings.NewReplacer("KIND", n.kind, "START", n.start, "END", n.end).Replace(text))
}

// stamp reads the stored status as a Stamp for Check.
func (n names) stamp(t *testing.T, c dynamic.ResourceInterface) status.Stamp {
	t.Helper()
	u, err := c.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	stamp, err := statustest.Stamp(status.FieldNames{StartedAt: n.start, FinishedAt: n.end}, u)
	require.NoError(t, err)
	return stamp
}

// merge patches the status.
func merge(text string) attempt {
	return patch(types.MergePatchType, text, metav1.PatchOptions{}, "status")
}

// mergeObject patches the object itself.
func mergeObject(text string) attempt {
	return patch(types.MergePatchType, text, metav1.PatchOptions{})
}

// jsonPatch patches the status by operations.
func jsonPatch(text string) attempt {
	return patch(types.JSONPatchType, text, metav1.PatchOptions{}, "status")
}

// apply is a server-side apply that takes over the fields of other owners.
func apply(fields string) attempt {
	text := `{"apiVersion":"` + runs.GroupVersion().String() + `","kind":"KIND","metadata":{"name":"a"},"status":` + fields + `}`
	return patch(types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "other", Force: new(true)}, "status")
}

func patch(pt types.PatchType, text string, opts metav1.PatchOptions, subresources ...string) attempt {
	return func(t *testing.T, c dynamic.ResourceInterface, n names) error {
		t.Helper()
		_, err := c.Patch(t.Context(), "a", pt, n.in(text), opts, subresources...)
		return err
	}
}

// put replaces the status. "" sends no status.
func put(fields string) attempt { return update(fields, "status") }

// putObject replaces the object itself, with a new spec.
func putObject(fields string) attempt { return update(fields) }

func update(fields string, subresources ...string) attempt {
	return func(t *testing.T, c dynamic.ResourceInterface, n names) error {
		t.Helper()
		u, err := c.Get(t.Context(), "a", metav1.GetOptions{})
		require.NoError(t, err)
		delete(u.Object, "status")
		if fields != "" {
			var sent object
			require.NoError(t, json.Unmarshal(n.in(fields), &sent))
			u.Object["status"] = sent
		}
		u.Object["spec"] = object{"image": "new"} // which a write of the status ignores
		_, err = c.Update(t.Context(), u, metav1.UpdateOptions{}, subresources...)
		return err
	}
}

func remove(t *testing.T, c dynamic.ResourceInterface, _ names) error {
	t.Helper()
	return c.Delete(t.Context(), "a", metav1.DeleteOptions{})
}
