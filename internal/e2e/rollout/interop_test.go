// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/rollout/live"
)

// client-go's clients fit without an adapter, and Get is one line.
var (
	_ live.Discovery = discovery.DiscoveryInterface(nil)
	_ live.Patcher   = dynamic.ResourceInterface(nil)
	_ live.Creator   = dynamic.ResourceInterface(nil)
	_                = func(dyn dynamic.Interface) live.Get {
		return func(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
			return dyn.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		}
	}
)
