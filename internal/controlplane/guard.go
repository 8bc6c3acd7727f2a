// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// guardScript reads which processes run, until its input ends. That happens
// when this process is gone, even by SIGKILL. Then the script kills the
// processes and removes the data, which is useless now. Logs stay.
//
// Linux has a parent-death signal, but it is tied to a thread and not to the
// process (golang/go#27505). Other systems have none.
const guardScript = `
pids=
while read -r op pid; do
	case $op in
	+) pids="$pids $pid" ;;
	-)
		rest=
		for p in $pids; do [ "$p" = "$pid" ] || rest="$rest $p"; done
		pids=$rest
		;;
	esac
done
[ -n "$pids" ] || exit 0
kill -9 $pids
rm -rf -- "$1"
`

// guard is a shell that outlives this process until it has killed the processes
// that this process started.
type guard struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	input io.WriteCloser
}

// startGuard starts a guard that also removes the directory data.
func startGuard(data string) (*guard, error) {
	//nolint:noctx // it runs longer than every context and this process
	cmd := exec.Command("/bin/sh", "-c", guardScript, "controlplane-guard", data)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	// Ctrl-C goes to a whole process group, so the guard needs a separate
	// group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("controlplane: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("controlplane: %w", err)
	}
	return &guard{cmd: cmd, input: input}, nil
}

// start starts cmd and registers it with the guard. If that fails, it kills
// cmd.
func (g *guard) start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(g.input, "+ %d\n", cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("the guard is gone: %w", err)
	}
	return nil
}

// ended tells the guard not to kill the pid, which may now belong to another
// process.
func (g *guard) ended(cmd *exec.Cmd) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = fmt.Fprintf(g.input, "- %d\n", cmd.Process.Pid)
}

// stop ends the guard. Stop the other processes first, so that the guard kills
// none.
func (g *guard) stop() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.input.Close()
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("controlplane: guard: %w", err)
	}
	return nil
}
