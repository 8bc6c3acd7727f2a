// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// InstallCRDs applies the CustomResourceDefinitions of files or directories and
// returns once objects of their kinds can be created and are garbage-collected.
// It may be called again with changed ones, and concurrently. It restarts the
// controller manager, which would otherwise take up to 40 seconds to follow the
// owner references of a new kind.
func (cp *ControlPlane) InstallCRDs(ctx context.Context, paths ...string) error {
	cp.installing.Lock()
	defer cp.installing.Unlock()
	for _, path := range paths {
		if err := cp.runKubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", path); err != nil {
			return err
		}
		if err := cp.established(ctx, path); err != nil {
			return err
		}
	}
	if err := cp.ControllerManager.Stop(); err != nil {
		return err
	}
	return cp.ControllerManager.Start(ctx)
}

// established waits until the API server serves the kinds. It repeats kubectl
// wait, which fails immediately for an object without conditions.
func (cp *ControlPlane) established(ctx context.Context, path string) (last error) {
	serves := func(ctx context.Context) (bool, error) {
		last = cp.runKubectl(ctx, "wait", "--for=condition=Established", "--timeout=10s", "-f", path)
		return last == nil, nil
	}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, readyTimeout, true, serves)
	return errors.Join(last, err)
}

// runKubectl runs kubectl against this control plane; what it prints is in the
// error if it fails.
func (cp *ControlPlane) runKubectl(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, cp.kubectl, append([]string{"--kubeconfig", cp.Kubeconfig()}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cp.dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("controlplane: kubectl %s: %w: %s", args[0], err, out)
	}
	return nil
}
