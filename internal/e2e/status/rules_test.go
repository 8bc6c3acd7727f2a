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

// TestRules: the API server refuses every breach of each client, and accepts
// all that is legal. Check finds nothing in what is stored then but the one
// breach that no rule finds.
//
//req:shows S3
func TestRules(t *testing.T) {
	words := map[string]string{
		"back": "observedGeneration may not go back", "moved": "may not change once set", "dropped": "may not be dropped",
	}
	text, err := os.ReadFile(filepath.Join("testdata", "rules.yaml"))
	require.NoError(t, err)
	for kind, names := range underRules {
		of := strings.NewReplacer("GROUP", runs.GroupVersion().String(), "KIND", kind, "START", names.StartedAt, "END", names.FinishedAt)
		var requests map[string]request
		require.NoError(t, yaml.UnmarshalStrict([]byte(of.Replace(string(text))), &requests))
		for name, r := range requests {
			t.Run(kind+"/"+name, func(t *testing.T) {
				c := newStage(t).stored(t, kind, requests["TheSameAgain"])
				before, err := c.Get(t.Context(), "a", metav1.GetOptions{})
				require.NoError(t, err)
				says := words[r.Says]
				if kind == "Task" && r.Says == "dropped" {
					says = words["back"] // a default replaces a removed status with an older one
				}
				r.assertAnswer(t, c, says)
				if r.How == "delete" {
					return
				}
				after, err := c.Get(t.Context(), "a", metav1.GetOptions{})
				require.NoError(t, err)
				was, err := statustest.Stamp(names, before)
				require.NoError(t, err)
				is, err := statustest.Stamp(names, after)
				require.NoError(t, err)
				breaches := statustest.Check(was, is, is.ObservedGeneration)
				assert.Equal(t, name == "UpdatedAtCleared", len(breaches) > 0, "%v", breaches)
			})
		}
	}
}

// assertAnswer sends the request, which is accepted, or refused with the words
// of a rule.
func (r request) assertAnswer(t *testing.T, c dynamic.ResourceInterface, says string) {
	t.Helper()
	err := r.send(t, c)
	if says == "" {
		require.NoError(t, err, r.Reason)
		return
	}
	require.True(t, apierrors.IsInvalid(err), "422, not %v", err)
	assert.Contains(t, err.Error(), says, "it says which rule")
}

// stored creates an object with a status that has none of the fields, which
// then are set.
func (s *stage) stored(t *testing.T, kind string, full request) dynamic.ResourceInterface {
	t.Helper()
	r := resourceOf(strings.ToLower(kind))
	s.object(t, r, "a")
	c := s.dynamic(r)
	empty := request{How: "merge", Body: json.RawMessage(`{"status":{"phase":"Pending"}}`)}
	require.NoError(t, empty.send(t, c))
	require.NoError(t, full.send(t, c))
	return c
}
