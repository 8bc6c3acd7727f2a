// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// The rules, tested with a writer that does not keep the contract.

// request is one on an object with the stored status.
type request struct {
	Reason string
	Object bool            // it is for the object itself
	How    string          // merge, json, apply, put or delete
	Body   json.RawMessage // of a put, the status
	Says   string          // which rule refuses it
}

func (r request) send(t *testing.T, c dynamic.ResourceInterface) error {
	t.Helper()
	subresources := []string{"status"}
	if r.Object {
		subresources = nil
	}
	var opts metav1.PatchOptions
	switch r.How {
	case "delete":
		return c.Delete(t.Context(), "a", metav1.DeleteOptions{})
	case "put":
		u, err := c.Get(t.Context(), "a", metav1.GetOptions{})
		require.NoError(t, err)
		delete(u.Object, "status")
		if r.Body != nil {
			var sent object
			require.NoError(t, json.Unmarshal(r.Body, &sent))
			u.Object["status"] = sent
		}
		u.Object["spec"] = object{"image": "new"} // which a write of the status ignores
		_, err = c.Update(t.Context(), u, metav1.UpdateOptions{}, subresources...)
		return err
	case "apply": // it takes over the fields of other owners
		opts = metav1.PatchOptions{FieldManager: "other", Force: new(true)}
	}
	patches := map[string]types.PatchType{
		"merge": types.MergePatchType, "json": types.JSONPatchType, "apply": types.ApplyPatchType,
	}
	_, err := c.Patch(t.Context(), "a", patches[r.How], r.Body, opts, subresources...)
	return err
}

// underRules are the kind of controller-gen, and the kind with other names and
// a default.
var underRules = map[string]status.FieldNames{
	"AgentRun": {StartedAt: "startedAt", FinishedAt: "finishedAt"},
	"Task":     taskNames,
}

// requestsOf reads the requests of the file for a kind, and its stored status.
func requestsOf(t *testing.T, kind string) (refused, accepted map[string]request, stored request) {
	t.Helper()
	names := underRules[kind]
	raw, err := os.ReadFile(filepath.Join("testdata", "rules.yaml"))
	require.NoError(t, err)
	words := strings.NewReplacer("GROUP", runs.GroupVersion().String(), "KIND", kind, "START", names.StartedAt, "END", names.FinishedAt)
	var file struct{ Refused, Accepted map[string]request }
	require.NoError(t, yaml.UnmarshalStrict([]byte(words.Replace(string(raw))), &file))
	return file.Refused, file.Accepted, file.Accepted["TheSameAgain"]
}

// TestRulesRefuseEveryBreach: the API server holds each client to them.
//
//req:shows S3
func TestRulesRefuseEveryBreach(t *testing.T) {
	words := map[string]string{
		"back": "observedGeneration may not go back", "moved": "may not change once set", "dropped": "may not be dropped",
	}
	for kind := range underRules {
		refused, _, stored := requestsOf(t, kind)
		c := newStage(t).stored(t, kind, stored)
		before, err := c.Get(t.Context(), "a", metav1.GetOptions{})
		require.NoError(t, err)
		for name, r := range refused {
			t.Run(kind+"/"+name, func(t *testing.T) {
				err := r.send(t, c)
				require.Error(t, err)
				assert.True(t, apierrors.IsInvalid(err), "422, not %v", err)
				if kind == "Task" && r.Says == "dropped" {
					r.Says = "back" // a default replaces a removed status with an older one
				}
				assert.Contains(t, err.Error(), words[r.Says], "it says which rule")
				after, err := c.Get(t.Context(), "a", metav1.GetOptions{})
				require.NoError(t, err)
				assert.Equal(t, before.Object, after.Object)
			})
		}
	}
}

func TestRulesAcceptAllThatIsLegal(t *testing.T) {
	for kind, names := range underRules {
		_, accepted, stored := requestsOf(t, kind)
		for name, r := range accepted {
			t.Run(kind+"/"+name, func(t *testing.T) {
				c := newStage(t).stored(t, kind, stored)
				stamp := func() status.Stamp {
					u, err := c.Get(t.Context(), "a", metav1.GetOptions{})
					require.NoError(t, err)
					stamp, err := statustest.Stamp(names, u)
					require.NoError(t, err)
					return stamp
				}
				before := stamp()
				require.NoError(t, r.send(t, c), r.Reason)
				if r.How == "delete" {
					return
				}
				after := stamp()
				breaches := statustest.Check(before, after, after.ObservedGeneration)
				assert.Equal(t, name == "UpdatedAtCleared", len(breaches) > 0, "Check finds the same, and the breach that no rule finds: %v", breaches)
			})
		}
	}
}

// stored creates an object with a status that has none of the fields, which
// then are set.
func (s *stage) stored(t *testing.T, kind string, full request) dynamic.ResourceInterface {
	t.Helper()
	r := resourceOf(strings.ToLower(kind))
	s.object(t, r, "a")
	c := s.theirs.dynamic(r)
	empty := request{How: "merge", Body: json.RawMessage(`{"status":{"phase":"Pending"}}`)}
	require.NoError(t, empty.send(t, c))
	require.NoError(t, full.send(t, c))
	return c
}
