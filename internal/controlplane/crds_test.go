// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
)

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func TestInstalledCRDsAreServedAndCollectedAtOnce(t *testing.T) {
	cp, client := start(t)
	path := filepath.Join(t.TempDir(), "widgets.yaml")
	require.NoError(t, os.WriteFile(path, []byte(widgets), 0o600))
	before := cp.ControllerManager.Pid()
	require.NoError(t, cp.InstallCRDs(t.Context(), path))
	assert.NotEqual(t, before, cp.ControllerManager.Pid(), "it starts with the new kind, which it would else see up to 40 s later")
	require.NoError(t, cp.InstallCRDs(t.Context(), path), "again changes nothing")

	ns := namespace(t, client)
	dyn, err := dynamic.NewForConfig(cp.Config())
	require.NoError(t, err)
	things := dyn.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).Namespace(ns)
	owner, err := things.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "owner"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err, "served")

	j := job("owned", map[string]string{kubelet.OutcomeAnnotation: kubelet.Never})
	j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Widget", Name: owner.GetName(), UID: owner.GetUID()}}
	createJob(t, client, ns, j)
	require.NoError(t, things.Delete(t.Context(), owner.GetName(), metav1.DeleteOptions{}))
	eventually(t, "collected", func(c *assert.CollectT) {
		_, err := client.BatchV1().Jobs(ns).Get(t.Context(), j.Name, metav1.GetOptions{})
		require.True(c, apierrors.IsNotFound(err), "%v", err)
	})
}

func TestInstallCRDsSaysWhatKubectlSays(t *testing.T) {
	cp, _ := start(t)
	err := cp.InstallCRDs(t.Context(), filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorContains(t, err, "none.yaml")
}
