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
// modules, the Go version, the platform and the flags identify an entry of the
// cache: a change of one builds a new entry. kubectl and kube-scheduler are
// built only on request. kwok and the controller of Argo Rollouts are too, and
// have separate entries.
//
// KUBEBUILDER_ASSETS, the variable of controller-runtime's envtest, names a
// directory. Its programs are used, and only missing ones are built.
//
// CONTROLLERKIT_KUBERNETES selects a minor version of Kubernetes, such as 1.35.
// Its go.mod is a file such as 1.35.mod in the folder kubernetes, and it has a
// separate entry of the cache. The programs in KUBEBUILDER_ASSETS may have any
// version, so the two variables exclude each other.
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
	"strings"
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

	// Source is the directory with the build modules. Empty means the one that
	// `go list -m` finds from the working directory.
	Source string

	// More are other programs to provide, such as Scheduler. Empty means none.
	More []string

	_ struct{}
}

// program is one executable and where it comes from.
type program struct {
	name   string
	module string // its build module; see modFile
	pkg    string
}

// programs are always built, in this order: a program shares compiled packages
// with earlier ones. So the modules of etcd, Kubernetes and kwok require the
// same versions of what they have in common.
func programs() []program {
	return []program{
		{Etcd, "etcd", "go.etcd.io/etcd/server/v3"},
		{APIServer, kubernetes, "k8s.io/kubernetes/cmd/kube-apiserver"},
		{ControllerManager, kubernetes, "k8s.io/kubernetes/cmd/kube-controller-manager"},
	}
}

// extras are built only on request.
func extras() []program {
	return []program{
		{Kubectl, kubernetes, "k8s.io/kubernetes/cmd/kubectl"},
		{Scheduler, kubernetes, "k8s.io/kubernetes/cmd/kube-scheduler"},
		{Kwok, "kwok", "sigs.k8s.io/kwok/cmd/kwok"},
		{ArgoRollouts, "argorollouts", "github.com/argoproj/argo-rollouts/cmd/rollouts-controller"},
		{ArgoOracle, "argorollouts", "./oracle"},
	}
}

// shelfOf returns the build modules that share module's entry of the cache. A
// change of another module does not rebuild them.
func shelfOf(module string) []string {
	if together := []string{"etcd", kubernetes}; slices.Contains(together, module) {
		return together
	}
	return []string{module}
}

// wanted returns the default programs and those in more.
func wanted(more []string) ([]program, error) {
	list := programs()
	for _, name := range more {
		i := slices.IndexFunc(extras(), func(p program) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("build: More: %q is not a program; want %s, %s, %s, %s or %s",
				name, Kubectl, Scheduler, Kwok, ArgoRollouts, ArgoOracle)
		}
		list = append(list, extras()[i])
	}
	return list, nil
}

// Ensure returns the programs. It builds each program that is in neither
// KUBEBUILDER_ASSETS nor the cache.
//
// It needs the go command unless KUBEBUILDER_ASSETS holds everything. It needs
// the network (or a module proxy) for the first build only. Goroutines and
// processes may call it concurrently. When ctx ends it stops the build and
// returns an error that wraps ctx.Err(). If a program does not compile, the
// error has what the compiler said.
func Ensure(ctx context.Context, opts Options) (Binaries, error) {
	log := progress{opts.Log}
	if opts.Log == nil {
		log.w = io.Discard
	}
	list, err := wanted(opts.More)
	if err != nil {
		return nil, err
	}
	if err := ofVersion(os.Getenv(versionVariable), list); err != nil {
		return nil, err
	}
	have, missing, err := fromAssets(os.Getenv(assetsVariable), list, log)
	if err != nil {
		return nil, err
	}
	for len(missing) > 0 {
		shelf := shelfOf(missing[0].module)
		here, others := divide(missing, shelf)
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

// divide returns the programs of these build modules, and the others.
func divide(list []program, modules []string) (here, others []program) {
	for _, p := range list {
		if slices.Contains(modules, p.module) {
			here = append(here, p)
		} else {
			others = append(others, p)
		}
	}
	return here, others
}

// fill builds what the entry lacks, under the entry's lock.
func (e *entry) fill(ctx context.Context, wanted []program, log progress) error {
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
	var names []string
	for _, p := range lacking {
		names = append(names, p.name)
	}
	log.line("building %s from source, which takes minutes, once; cached in %s",
		strings.Join(names, ", "), e.dir)
	for i, p := range lacking {
		title := fmt.Sprintf("step %d of %d: %s", i+1, len(lacking), p.name)
		if err := log.step(title, func() error { return e.compile(ctx, p) }); err != nil {
			return err
		}
	}
	return e.prune()
}

// assetsVariable also configures controller-runtime's envtest.
const assetsVariable = "KUBEBUILDER_ASSETS"

// fromAssets returns the programs of list that dir holds, and the others.
func fromAssets(dir string, list []program, log progress) (have Binaries, missing []program, err error) {
	have = Binaries{}
	if dir == "" {
		return have, list, nil
	}
	if dir, err = filepath.Abs(dir); err != nil { // the programs will run in another directory
		return nil, nil, fmt.Errorf("build: %s: %w", assetsVariable, err)
	}
	for _, p := range list {
		if path := filepath.Join(dir, p.name); executable(path) {
			have[p.name] = path
		} else {
			missing = append(missing, p)
		}
	}
	log.line("using %d of %d programs from %s=%s", len(have), len(list), assetsVariable, dir)
	return have, missing, nil
}

// executable reports whether path is a file that may be run.
func executable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}
