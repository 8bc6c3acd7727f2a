// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build builds the programs of a Kubernetes control plane from their Go
// modules, once, into a cache.
//
// A real API server needs no Docker, no cluster and no downloaded binary: etcd
// and Kubernetes are Go modules. The folders with a go.mod next to this file
// are modules that require them. The first build takes minutes and logs its
// progress. Later calls find the programs in the cache.
//
//	programs, err := build.Ensure(ctx, build.Options{Log: os.Stderr})
//	cmd := exec.CommandContext(ctx, programs[build.Etcd], "--version")
//
// # Rules
//
// The cache is CONTROLLERKIT_CACHE, or by default controllerkit in the user's
// cache directory. A program appears there only when it is complete. Processes
// that need the same programs at the same time share one build. The build
// module, the Go version, the platform and the flags identify an entry of the
// cache: a change of one builds a new entry. Nothing removes old ones. kubectl,
// kube-scheduler, kwok and the controller of Argo Rollouts are built only on
// request.
//
// KUBEBUILDER_ASSETS, the variable of controller-runtime's envtest, names a
// directory. Its programs are used, and only missing ones are built.
//
// CONTROLLERKIT_KUBERNETES selects a minor version of Kubernetes, such as 1.35.
// Its go.mod is a file such as 1.35.mod in the folder kubernetes, and it has a
// separate entry of the cache. The programs in KUBEBUILDER_ASSETS may have any
// version.
//
// # When not to use it
//
// To run a control plane, use the package above, which calls this one.
package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// The programs that [Ensure] always provides.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
)

// The programs that [Ensure] provides when Options.More names them.
const (
	Kubectl      = "kubectl"
	Scheduler    = "kube-scheduler"
	Kwok         = "kwok"
	ArgoRollouts = "rollouts-controller"
	ArgoOracle   = "rollouts-oracle" // prints how that controller's code handles a Rollout
)

// Binaries maps the name of a program to the path of its executable.
type Binaries map[string]string

// Options configures the build. The zero value is recommended.
type Options struct {
	// Log receives the progress as lines of text. Nil means no log.
	Log io.Writer

	// Source is the directory with the build modules. Empty means that
	// `go list -m` finds it from the working directory.
	Source string

	// More are other programs to provide, such as Scheduler. Empty means none.
	More []string

	_ struct{}
}

// program is one executable and where it comes from.
type program struct {
	name   string
	module string // its build module
	pkg    string
}

// programs are built in this order: a program shares compiled packages with
// earlier ones. So the modules others and kubernetes require the same versions
// of the modules that they share.
func programs() []program {
	return []program{
		{Etcd, "others", "go.etcd.io/etcd/server/v3"},
		{APIServer, kubernetes, "k8s.io/kubernetes/cmd/kube-apiserver"},
		{ControllerManager, kubernetes, "k8s.io/kubernetes/cmd/kube-controller-manager"},
		{Kubectl, kubernetes, "k8s.io/kubernetes/cmd/kubectl"},
		{Scheduler, kubernetes, "k8s.io/kubernetes/cmd/kube-scheduler"},
		{Kwok, "others", "sigs.k8s.io/kwok/cmd/kwok"},
		{ArgoRollouts, "argorollouts", "github.com/argoproj/argo-rollouts/cmd/rollouts-controller"},
		{ArgoOracle, "argorollouts", "./oracle"},
	}
}

// wanted returns the first three programs and those in more.
func wanted(more []string) ([]program, error) {
	all := programs()
	list := all[:3:3]
	for _, name := range more {
		i := slices.IndexFunc(all, func(p program) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("build: More: %q is not a program", name)
		}
		list = append(list, all[i])
	}
	return list, nil
}

// assetsVariable also configures controller-runtime's envtest.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Ensure returns the programs. It builds each program that is in neither
// KUBEBUILDER_ASSETS nor the cache.
//
// It needs the go command unless KUBEBUILDER_ASSETS holds everything. It needs
// the network (or a module proxy) for the first build only. Goroutines and
// processes may call it concurrently. When ctx ends it stops the build and
// returns an error that wraps ctx.Err(). If a program does not compile, the
// error has what the compiler said.
func Ensure(ctx context.Context, opts Options) (Binaries, error) {
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	list, err := wanted(opts.More)
	if err != nil {
		return nil, err
	}
	assets, err := filepath.Abs(os.Getenv(assetsVariable)) // programs run in another directory
	if err != nil {
		return nil, fmt.Errorf("build: %s: %w", assetsVariable, err)
	}
	have := Binaries{}
	entries := map[string]*entry{}
	for _, p := range list {
		have[p.name] = filepath.Join(assets, p.name)
		if os.Getenv(assetsVariable) != "" && executable(have[p.name]) {
			continue
		}
		if entries[p.module] == nil {
			entries[p.module], err = openEntry(ctx, opts.Source, p.module)
			if err != nil {
				return nil, err
			}
		}
		have[p.name], err = entries[p.module].provide(ctx, p, opts.Log)
		if err != nil {
			return nil, err
		}
	}
	return have, nil
}

// executable reports whether path is a file that may be run.
func executable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}
