// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// TestNodesRunDeployments: the scheduler spreads the pods over kwok's nodes,
// and kwok makes them ready, except the pods that must never be ready.
func TestNodesRunDeployments(t *testing.T) {
	cp, err := controlplane.Start(t.Context(), controlplane.Options{
		Log: os.Stderr, Nodes: 2, Controllers: []string{"deployment-controller", "replicaset-controller"},
	})
	require.NoError(t, err)
	client := clientOf(t, cp)
	deploy := func(name string, annotations map[string]string) {
		labels := map[string]string{"app": name}
		_, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(4)), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: name}}},
				},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	deploy("never", map[string]string{controlplane.NeverReadyAnnotation: "true"})
	deploy("ready", nil)
	eventually(t, "the Deployment is available", func(c *assert.CollectT) {
		d, err := client.AppsV1().Deployments("default").Get(t.Context(), "ready", metav1.GetOptions{})
		require.NoError(c, err)
		require.EqualValues(c, 4, d.Status.ReadyReplicas)
	})
	eventually(t, "the other's pods run", func(c *assert.CollectT) {
		pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=never"})
		require.NoError(c, err)
		require.Len(c, pods.Items, 4)
		for i := range pods.Items {
			require.Equal(c, corev1.PodRunning, pods.Items[i].Status.Phase)
			assert.False(t, ready(&pods.Items[i]), "a pod without the annotation is ready as soon as it runs")
		}
	})
	d, err := client.AppsV1().Deployments("default").Get(t.Context(), "never", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Zero(t, d.Status.ReadyReplicas)

	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	nodes := map[string]int{}
	for i := range pods.Items {
		nodes[pods.Items[i].Spec.NodeName]++
	}
	assert.Len(t, nodes, 2, "%v", nodes)
	require.NoError(t, client.AppsV1().Deployments("default").Delete(t.Context(), "ready", metav1.DeleteOptions{}))
	eventually(t, "deleted pods go", func(c *assert.CollectT) {
		pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=ready"})
		require.NoError(c, err)
		require.Empty(c, pods.Items)
	})
	require.NoError(t, cp.Ready(t.Context()))
	require.NoError(t, cp.Stop())
}

// TestArgoRolloutsNeedsANamespaceOfItsOwn, since it listens on every address.
// Nothing is built or started.
func TestArgoRolloutsNeedsANamespaceOfItsOwn(t *testing.T) {
	_, err := controlplane.Start(t.Context(), controlplane.Options{ArgoRollouts: true})
	require.ErrorContains(t, err, "every address")
	require.ErrorContains(t, err, "netns")
}
