// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// get reads any object.
func get(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	dyn, err := dynamic.NewForConfig(plane.Config())
	if err != nil {
		return nil, err
	}
	return dyn.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// TestReferences_OnTheRealController: References reports every missing or unfit
// object of a Rollout before it is applied. The controller reports them
// afterwards, one at a time, or never.
//
//req:shows R3
func TestReferences_OnTheRealController(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	referred, err := filepath.Abs(filepath.Join("testdata", "referred.yaml"))
	require.NoError(t, err)
	s.kubectl("create -f " + referred)
	data, err := os.ReadFile(filepath.Join("testdata", "references.yaml"))
	require.NoError(t, err)
	var cases map[string]struct {
		Spec  map[string]any
		Want  string
		State live.Phase
	}
	require.NoError(t, yaml.Unmarshal(data, &cases))
	for name, tc := range cases {
		r := s.referring(name, tc.Spec)
		require.Empty(t, rollout.Validate(r), "%s: nothing but a cluster can know", name)
		errs := live.References(t.Context(), r, get, "")
		if tc.Want == "" {
			assert.Empty(t, errs, name)
		} else {
			require.Len(t, errs, 1, name)
			assert.True(t, strings.HasPrefix(errs[0].Error(), tc.Want+": "), "%s: %v", name, errs)
		}
		s.apply(r)
	}
	for name, tc := range cases {
		s.reaches(name, tc.State)
	}

	// The controller takes it up once it is there.
	s.kubectl("create service clusterip missing --tcp=80")
	s.kubectl("set selector service missing app=web")
	assert.Empty(t, live.References(t.Context(), s.referring("stable", cases["stable"].Spec), get, ""))
	s.reaches("stable", live.Healthy)
}

// referring is a Rollout without pods, with a merge patch of its spec.
func (s *stage) referring(name string, spec map[string]any) *rollout.Rollout {
	s.Helper()
	r := converted(s.T, "web:1", rollout.Options{})
	r.Name, r.Namespace, r.Spec.Replicas = name, s.namespace, new(int32(0))
	data, err := json.Marshal(r)
	require.NoError(s, err)
	patch, err := json.Marshal(map[string]any{"spec": spec})
	require.NoError(s, err)
	data, err = jsonpatch.MergePatch(data, patch)
	require.NoError(s, err)
	r = new(rollout.Rollout)
	require.NoError(s, json.Unmarshal(data, r))
	return r
}
