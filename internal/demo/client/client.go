// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client is the typed client of AgentRuns.
package client

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// Client is the typed client of AgentRuns in one namespace.
type Client = gentype.ClientWithList[*v1alpha1.AgentRun, *v1alpha1.AgentRunList]

// New returns a factory of typed clients for AgentRuns. It sends no request.
func New(config *rest.Config) (func(namespace string) *Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
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
