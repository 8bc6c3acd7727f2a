// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
)

// startKubelet creates the node and starts the fake kubelet as a separate user.
func (cp *ControlPlane) startKubelet(ctx context.Context) error {
	config, err := cp.User("system:node:"+kubelet.NodeName, masters)
	if err != nil {
		return err
	}
	config.UserAgent = "kubelet"
	config.WarningHandler = rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	k := kubelet.New(client)
	if err := k.Register(ctx); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(cp.dir, "kubelet.log"))
	if err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	write := func(_, line string) { _, _ = fmt.Fprintln(log, line) }
	logger := funcr.New(write, funcr.Options{LogTimestamp: true})
	cp.kubelet.Go(func() {
		defer func() { _ = log.Close() }()
		_ = k.Start(logr.NewContext(ctx, logger)) // ends with ctx
	})
	return nil
}
