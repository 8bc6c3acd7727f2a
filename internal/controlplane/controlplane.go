// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
	"github.com/proompteng/controllerkit/internal/controlplane/netns"
)

// readyTimeout is how long a process may take to become ready if the caller's
// context has no deadline. A warm start takes about three seconds. A loaded
// machine may need many times that.
const readyTimeout = 2 * time.Minute

// Options adds to a control plane. The zero value starts the recommended one.
type Options struct {
	// Log receives the progress of build and start, whole lines of text. Nil
	// means that none is written.
	Log io.Writer

	// APIServerArgs come after the flags that Start chooses, such as
	// --runtime-config=batch/v2alpha1=true. If a flag is given twice, the later
	// one counts. Empty means no other flags.
	APIServerArgs []string

	// AuditPolicy is an audit.k8s.io/v1 Policy as YAML or JSON. The API server
	// then logs requests to the file that [ControlPlane.Requests] reads. Empty
	// means no audit log.
	AuditPolicy string

	// ControllerManagerArgs come after the flags that Start chooses, like
	// APIServerArgs. Empty means no other flags.
	ControllerManagerArgs []string

	// Kubectl is the path of the kubectl that [ControlPlane.Kubectl] returns.
	// Empty means one of the API server's version, which Start builds.
	Kubectl string

	// ArgoRollouts prepares the controller of Argo Rollouts; see
	// [ControlPlane.InstallArgoRollouts]. It listens on every address, so Start
	// returns an error outside a separate network namespace (package netns).
	// kube-scheduler and three nodes that kwok simulates replace the node on
	// which package kubelet binds and runs the pods.
	ArgoRollouts bool

	_ struct{}
}

// ControlPlane is a running control plane. [Start] returns one. Its methods may
// be called concurrently.
type ControlPlane struct {
	// Etcd, APIServer and ControllerManager can be stopped, killed, frozen and
	// started again, to cause faults.
	Etcd, APIServer, ControllerManager *Process

	// ArgoRollouts is nil without Options.ArgoRollouts. Start does not start it.
	ArgoRollouts *Process

	log       io.Writer
	dir       string
	keep      atomic.Bool
	kubectl   string
	pki       *authority
	admin     *rest.Config
	guard     *exec.Cmd
	ports     []*port
	processes []*Process // that Start starts, in the order of their dependencies
	kubelet   sync.WaitGroup
	cancel    context.CancelFunc // ends the goroutines of this process
	stop      func() error

	installing sync.Mutex // InstallCRDs
}

// Start builds missing programs, starts everything in a temporary directory,
// and returns when the API server, its default namespace and the controller
// manager are ready. When ctx ends, everything stops as by [ControlPlane.Stop].
// After an error nothing runs. The error names the process, its log and the
// log's last lines.
func Start(ctx context.Context, opts Options) (*ControlPlane, error) {
	if opts.ArgoRollouts && !netns.Alone() {
		return nil, errNotAlone
	}
	programs, err := build.Ensure(ctx, build.Options{Log: opts.Log, More: opts.Programs()})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	dir, err := os.MkdirTemp("", "controlplane-") // too long a TMPDIR has no room for a socket
	if err != nil {
		return nil, fmt.Errorf("controlplane: %w", err)
	}
	kubectl := cmp.Or(opts.Kubectl, programs[build.Kubectl])
	cp := &ControlPlane{log: opts.Log, dir: dir, kubectl: kubectl}
	if cp.log == nil {
		cp.log = io.Discard
	}
	cp.stop = sync.OnceValue(cp.end)
	ctx, cp.cancel = context.WithCancel(ctx)
	if err := cp.start(ctx, programs, opts); err != nil {
		if !errors.Is(err, context.Canceled) {
			cp.Keep()
		}
		_ = cp.Stop() // would return the same error
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = cp.Stop() })
	cp.line("ready after %.1f s at %s, files in %s", time.Since(began).Seconds(), cp.admin.Host, cp.dir)
	return cp, nil
}

// start starts the processes in the order of their dependencies.
func (cp *ControlPlane) start(ctx context.Context, programs build.Binaries, opts Options) error {
	if err := cp.prepare(programs, opts); err != nil {
		return err
	}
	for _, p := range cp.processes {
		if err := p.Start(ctx); err != nil {
			return err
		}
	}
	if opts.ArgoRollouts {
		return nil
	}
	return cp.startKubelet(ctx)
}

// prepare sets the keys, ports and flags, which stay the same for the life of
// the control plane.
func (cp *ControlPlane) prepare(programs build.Binaries, opts Options) (err error) {
	if cp.guard, err = startGuard(filepath.Join(cp.dir, "etcd")); err != nil {
		return err
	}
	for range 3 {
		p, err := reservePort()
		if err != nil {
			return err
		}
		cp.ports = append(cp.ports, p)
	}
	if cp.pki, err = newAuthority(); err != nil {
		return err
	}
	if err := cp.writeFiles(); err != nil {
		return err
	}
	apiServer, manager := cp.ports[0].number, cp.ports[1].number
	cp.Etcd = cp.process(programs[build.Etcd], 0, etcdReady(cp.dir))
	cp.APIServer = cp.process(programs[build.APIServer], apiServer, apiServerReady(cp.admin))
	if opts.AuditPolicy != "" {
		policy := filepath.Join(cp.dir, "audit-policy")
		if err := os.WriteFile(policy, []byte(opts.AuditPolicy), 0o600); err != nil {
			return fmt.Errorf("controlplane: %w", err)
		}
		cp.APIServer.args = append(cp.APIServer.args, flagsOf("audit", cp.dir, 0)...)
	}
	cp.APIServer.args = append(cp.APIServer.args, opts.APIServerArgs...)
	cp.ControllerManager = cp.process(programs[build.ControllerManager], manager, healthy(cp.pki, manager))
	cp.ControllerManager.args = append(cp.ControllerManager.args, opts.ControllerManagerArgs...)
	cp.processes = []*Process{cp.Etcd, cp.APIServer, cp.ControllerManager}
	if opts.ArgoRollouts {
		return cp.prepareArgoRollouts(programs)
	}
	return nil
}

// process describes a program with its files in the control plane's directory
// and its flags of flags.txt.
func (cp *ControlPlane) process(path string, port int, ready probe) *Process {
	args := flagsOf(filepath.Base(path), cp.dir, port)
	ended := &run{done: make(chan struct{})}
	close(ended.done)
	return &Process{
		path: path, args: args, dir: cp.dir, group: cp.guard.Process.Pid, ready: ready, current: ended,
	}
}

// Ready returns when all processes are ready, for use after a fault. It waits
// for two minutes if ctx has no deadline. Its error names the process that is
// not ready.
func (cp *ControlPlane) Ready(ctx context.Context) error {
	for _, p := range cp.processes {
		if err := p.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Dir returns the directory of the logs, the keys, the kubeconfig file and
// etcd's data. Put files there that shall be removed with the control plane.
func (cp *ControlPlane) Dir() string { return cp.dir }

// Kubectl returns the path of Options.Kubectl, or of a kubectl of the API
// server's version.
func (cp *ControlPlane) Kubectl() string { return cp.kubectl }

// Keep makes Stop leave the directory. Call it when a test failed, so that you
// can read the logs.
func (cp *ControlPlane) Keep() { cp.keep.Store(true) }

// Stop kills all processes and returns when they are gone. It removes the
// directory, except after [ControlPlane.Keep] or if a process had already
// ended. It reports each process that had already ended, with the end of its
// log. Later calls do nothing and return the same error.
func (cp *ControlPlane) Stop() error { return cp.stop() }

// end does the work of Stop.
func (cp *ControlPlane) end() error {
	cp.cancel()
	cp.kubelet.Wait()
	var errs []error
	for _, p := range append(cp.processes, cp.ArgoRollouts) {
		if p != nil {
			errs = append(errs, p.Kill(), p.died())
		}
	}
	if cp.guard != nil {
		_ = cp.guard.Process.Kill()
		_ = cp.guard.Wait()
	}
	for _, p := range cp.ports {
		errs = append(errs, p.release())
	}
	err := errors.Join(errs...)
	if err != nil || cp.keep.Load() {
		cp.line("stopped; files kept in %s", cp.dir)
		return err
	}
	return os.RemoveAll(cp.dir)
}

// line writes one line of progress.
func (cp *ControlPlane) line(format string, args ...any) {
	_, _ = fmt.Fprintf(cp.log, "control plane: "+format+"\n", args...)
}
