// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build makes the programs of a Kubernetes control plane from their Go modules, once, into a cache.
//
// A real API server needs no Docker, no cluster and no downloaded binary: etcd and Kubernetes are Go modules, and the
// folders beside this file that have a go.mod are modules that name them. The first build takes minutes and says so;
// every later one is a look into the cache.
//
//	programs, err := build.Ensure(ctx, build.Options{Log: os.Stderr})
//	cmd := exec.CommandContext(ctx, programs[build.Kubectl], "version", "--client")
//
// # Rules
//
// The cache is CONTROLLERKIT_CACHE, else controllerkit in the user's cache directory. A program appears there whole or
// not at all; processes that need the same programs at the same time share one build. The programs of a cache entry
// are decided by its build modules, the Go version, the platform and the flags: change one, and a new entry is built. kwok and the
// controller of Argo Rollouts have entries of their own, and are built only for those who ask for them.
//
// KUBEBUILDER_ASSETS, the variable of controller-runtime's envtest, names a directory whose programs are used instead,
// each that it holds; what it lacks is built.
//
// CONTROLLERKIT_KUBERNETES names a minor version of Kubernetes, such as 1.35, whose programs are used instead of those of the module
// kubernetes: it has a module of its own here, and an entry of the cache. Those of KUBEBUILDER_ASSETS may be of any version, so the two
// exclude each other.
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
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The programs that [Ensure] always provides.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Kubectl           = "kubectl"
)

// The programs that [Ensure] provides when Options.More names them.
const (
	Scheduler    = "kube-scheduler"
	Kwok         = "kwok"
	ArgoRollouts = "rollouts-controller"
	ArgoOracle   = "rollouts-oracle" // says what that controller's code makes of a Rollout
)

// Binaries maps the name of a program to the path of its executable.
type Binaries map[string]string

// Options says where the build modules are and who hears of the progress. Its zero value is the recommended one.
type Options struct {
	// Log receives the progress, whole lines of text. Nil means that none is written.
	Log io.Writer

	// Source is the directory that holds the build modules. Empty means the one that this package was compiled from,
	// or, where that is gone (-trimpath), the one that `go list -m` names in the working directory.
	Source string

	// More are programs beyond those that are always provided, such as Scheduler. Empty means none.
	More []string

	_ struct{}
}

// program is one executable and where it comes from.
type program struct {
	name    string
	module  string // the folder of its build module
	pkg     string
	seconds int // a cold build on two cores, in the order of this table
}

// programs lists what is always built, in this order: those that share packages with an earlier one profit from it.
func programs() []program {
	return []program{
		{Etcd, "etcd", "go.etcd.io/etcd/server/v3", 35},
		{APIServer, "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", 170},
		{ControllerManager, "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", 40},
		{Kubectl, "kubernetes", "k8s.io/kubernetes/cmd/kubectl", 15},
	}
}

// extras lists what is built for those who ask for it.
func extras() []program {
	return []program{
		{Scheduler, "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", 15},
		{Kwok, "kwok", "sigs.k8s.io/kwok/cmd/kwok", 90},
		{ArgoRollouts, "argorollouts", "github.com/argoproj/argo-rollouts/cmd/rollouts-controller", 170},
		{ArgoOracle, "argorollouts", "./oracle", 5},
	}
}

// shelfOf lists the build modules that share module's entry of the cache. A change in any other never builds them anew.
func shelfOf(module string) []string {
	if together := []string{"etcd", kubernetes}; slices.Contains(together, module) {
		return together
	}
	return []string{module}
}

// wanted returns the programs that are asked for.
func wanted(more []string) ([]program, error) {
	list := programs()
	for _, name := range more {
		i := slices.IndexFunc(extras(), func(p program) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("build: More: %q is no program; want %s, %s, %s or %s", name, Scheduler, Kwok, ArgoRollouts, ArgoOracle)
		}
		list = append(list, extras()[i])
	}
	return list, nil
}

// Ensure returns the programs, after building those that neither KUBEBUILDER_ASSETS nor the cache holds.
//
// It needs the go command unless KUBEBUILDER_ASSETS holds everything, and the network (or a module proxy) for the
// first build only. It may be called from several goroutines and processes at once. When ctx ends it stops the build
// and returns an error that wraps ctx.Err(). A program that does not compile is an [*Error].
func Ensure(ctx context.Context, opts Options) (Binaries, error) {
	log := newProgress(opts.Log)
	list, err := wanted(opts.More)
	if err != nil {
		return nil, err
	}
	if err := ofVersion(ctx, opts.Source, os.Getenv(versionVariable), list); err != nil {
		return nil, err
	}
	have, missing, err := fromAssets(os.Getenv(assetsVariable), list, log)
	if err != nil {
		return nil, err
	}
	for len(missing) > 0 {
		shelf := shelfOf(missing[0].module)
		var here, others []program
		for _, p := range missing {
			if slices.Contains(shelf, p.module) {
				here = append(here, p)
			} else {
				others = append(others, p)
			}
		}
		missing = others
		entry, err := openEntry(ctx, opts.Source, shelf)
		if err != nil {
			return nil, err
		}
		if err := entry.fill(ctx, here, log); err != nil {
			return nil, err
		}
		for _, p := range here {
			have[p.name] = entry.path(p)
		}
	}
	return have, nil
}

// fill builds what the entry lacks, under the entry's lock.
func (e *entry) fill(ctx context.Context, wanted []program, log *progress) error {
	if len(e.lacks(wanted)) == 0 {
		e.touch()
		return nil
	}
	unlock, err := lock(ctx, e.dir+".lock", func() {
		log.line("another process builds the same programs; waiting for it")
	})
	if err != nil {
		return err
	}
	defer unlock()

	lacking := e.lacks(wanted) // the other process may have built them
	if len(lacking) == 0 {
		return nil
	}
	log.line("building %s from source, about %s on %s, once; cached in %s",
		count(len(lacking), "program"), estimate(lacking, runtime.NumCPU()), count(runtime.NumCPU(), "core"), e.dir)
	for i, p := range lacking {
		step := log.step(i+1, len(lacking), p.name)
		err := e.compile(ctx, p)
		step.end(err)
		if err != nil {
			return err
		}
	}
	return e.prune()
}

// assetsVariable is the one that controller-runtime's envtest reads.
const assetsVariable = "KUBEBUILDER_ASSETS"

// fromAssets returns the programs of list that dir holds, and the others.
func fromAssets(dir string, list []program, log *progress) (have Binaries, missing []program, err error) {
	have = Binaries{}
	if dir == "" {
		return have, list, nil
	}
	if dir, err = filepath.Abs(dir); err != nil { // the programs will run in another directory
		return nil, nil, fmt.Errorf("build: %s: %w", assetsVariable, err)
	}
	var found []string
	for _, p := range list {
		if path := filepath.Join(dir, p.name); executable(path) {
			have[p.name] = path
			found = append(found, p.name)
			continue
		}
		missing = append(missing, p)
	}
	if len(found) == 0 {
		log.line("%s=%s holds none of the programs", assetsVariable, dir)
		return have, missing, nil
	}
	log.line("using %s from %s=%s", strings.Join(found, ", "), assetsVariable, dir)
	return have, missing, nil
}

// executable reports whether path is a file that may be run.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
