// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/controller"
)

// config finds the cluster and the namespace as kubectl does, or the cluster of
// this pod. It does not connect.
func (o *options) config() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	from := strings.Join(rules.Precedence, ", ")
	if o.kubeconfig != "" {
		from = o.kubeconfig
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.context}
	client := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	raw, err := client.RawConfig()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, "", fmt.Errorf("--kubeconfig: %s does not exist", from)
	case err != nil:
		return nil, "", fmt.Errorf("%s is not a kubeconfig file", from) // the cause may quote its credentials
	case o.context != "" && raw.Contexts[o.context] == nil:
		there := strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
		return nil, "", fmt.Errorf("--context: %q is not in %s; there are: %s", o.context, from, there)
	}
	config, err := client.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		const text = "no cluster is configured: %s has none, and this process is not in a pod; " +
			"want --kubeconfig or KUBECONFIG"
		return nil, "", fmt.Errorf(text, from)
	}
	if err != nil {
		return nil, "", fmt.Errorf("the cluster in %s: %w", from, err)
	}
	config.UserAgent = "agentrun/" + version()
	config.WarningHandlerWithContext = controller.Warnings(redact.Text)
	config.QPS = float32(o.qps)
	config.Burst = o.burst
	namespace := o.leaseNamespace
	if namespace == "" {
		namespace, _, err = client.Namespace()
		if err != nil {
			return nil, "", fmt.Errorf("the namespace in %s: %w", from, err)
		}
	}
	return config, namespace, nil
}
