// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// guardScript waits until its input ends. That happens when this process is
// gone, even by SIGKILL. Then the script removes the data, which is useless
// now, and kills its process group. Logs stay. The data gets another name
// first, so that etcd adds nothing to it. The kernel sends SIGHUP to a group
// that has lost its parent and has a frozen member.
//
// Linux has a parent-death signal, but it is tied to a thread and not to the
// process (golang/go#27505). Other systems have none.
const guardScript = `trap '' HUP; read -r _; mv "$1" "$1.gone" && rm -rf "$1.gone"; kill -9 0`

// startGuard starts a shell that outlives this process until it has removed the
// directory data and killed the processes of its group. All processes of the
// control plane belong to the group.
func startGuard(data string) (*exec.Cmd, error) {
	//nolint:noctx // it runs longer than every context and this process
	cmd := exec.Command("/bin/sh", "-c", guardScript, "controlplane-guard", data)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	// Ctrl-C at the terminal goes to the caller's group only. The caller then
	// ends the other processes in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := cmd.StdinPipe(); err != nil { // ends with this process, or with cmd.Wait
		return nil, fmt.Errorf("controlplane: guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("controlplane: guard: %w", err)
	}
	return cmd, nil
}
