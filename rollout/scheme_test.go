// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/proompteng/controllerkit/rollout"
)

// upstreams represents the types of the argo-rollouts module.
type upstreams struct{ rollout.Rollout }

// TestAddToScheme: a typed client decodes Rollouts and lists of them.
func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, rollout.AddToScheme(scheme))
	require.NoError(t, rollout.AddToScheme(scheme), "twice is once")
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	obj, _, err := decoder.Decode([]byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"RolloutList","metadata":{"resourceVersion":"9","remainingItemCount":3},
		"items":[{"metadata":{"name":"web","generation":3},"spec":{"replicas":5,"strategy":{"canary":{"steps":[{"setWeight":20}]}}},
		"status":{"observedGeneration":"3","phase":"Degraded","message":"x","HPAReplicas":5}}]}`), nil, nil)
	require.NoError(t, err)
	list := obj.(*rollout.RolloutList)
	require.Len(t, list.Items, 1)
	phase, message := rollout.PhaseOf(&list.Items[0], 0)
	assert.Equal(t, rollout.Degraded, phase)
	assert.Equal(t, "x", message)
	_, err = runtime.NewParameterCodec(scheme).EncodeParameters(&metav1.ListOptions{}, rollout.GVK().GroupVersion())
	require.NoError(t, err, "the options of a request")

	got := list.DeepCopyObject()
	assert.Equal(t, list, got)
	notShared(t, "list", reflect.ValueOf(list), reflect.ValueOf(got))
	assert.Equal(t, &rollout.RolloutList{}, new(rollout.RolloutList).DeepCopyObject())
	assert.Equal(t, runtime.Object(nil), (*rollout.RolloutList)(nil).DeepCopyObject(), "not a nil pointer in an interface")
	assert.Nil(t, (*rollout.RolloutList)(nil).DeepCopy())
}

// TestAddToScheme_BesideUpstreamsTypes is an error, where a scheme would panic.
func TestAddToScheme_BesideUpstreamsTypes(t *testing.T) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(rollout.GVK(), &upstreams{})
	err := rollout.AddToScheme(scheme)
	require.ErrorContains(t, err, "rollout: addToScheme: the scheme has ")
	require.ErrorContains(t, err, "make a separate scheme")
	require.ErrorContains(t, rollout.AddToScheme(nil), "the scheme is nil")
}
