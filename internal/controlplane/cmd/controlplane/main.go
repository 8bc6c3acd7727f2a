// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane runs an empty control plane until Ctrl-C or SIGTERM, for
// people at a terminal. It prints the lines that point kubectl in another
// terminal at it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cp, err := controlplane.Start(ctx, controlplane.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	// The cache is kubectl's, which therefore leaves nothing in the home
	// directory.
	cache := filepath.Join(cp.Dir(), "kubectl-cache")
	fmt.Fprintf(os.Stdout, "export KUBECONFIG=%s\nexport KUBECACHEDIR=%s\nexport PATH=%s:\"$PATH\"\n",
		quote(cp.Kubeconfig()), quote(cache), quote(filepath.Dir(cp.Kubectl())))
	<-ctx.Done()
	return cp.Stop()
}

// quote is for every POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
