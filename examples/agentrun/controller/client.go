// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// Client is the typed client of AgentRuns in one namespace.
type Client = gentype.ClientWithList[*v1alpha1.AgentRun, *v1alpha1.AgentRunList]

// NewClient returns a factory of typed clients for AgentRuns. It sends no
// request.
func NewClient(config *rest.Config) (func(namespace string) *Client, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = new(v1alpha1.GroupVersion())
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType = runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of AgentRuns: %w", err)
	}
	codec := runtime.NewParameterCodec(scheme)
	return func(namespace string) *Client {
		return gentype.NewClientWithList("agentruns", client, codec, namespace,
			func() *v1alpha1.AgentRun { return new(v1alpha1.AgentRun) },
			func() *v1alpha1.AgentRunList { return new(v1alpha1.AgentRunList) })
	}, nil
}

// newScheme knows AgentRuns.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, v1alpha1.AddToScheme(scheme)
}

// listerWatcher has the methods of a typed client that an informer needs.
type listerWatcher[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// informer caches the objects that client lists and selector matches.
func informer[L runtime.Object](client listerWatcher[L], of runtime.Object, selector string) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = selector
			return client.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = selector
			return client.Watch(ctx, opts)
		},
	}, of, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}
