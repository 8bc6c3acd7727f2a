// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// state is a running control plane. The start time of its process distinguishes
// it from a later process with the same pid.
type state struct {
	Pid        int    `json:"pid"`
	Started    string `json:"started"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	Cache      string `json:"cache"` // of kubectl, which therefore leaves nothing in the home directory
	Programs   string `json:"programs"`
}

// place is the file of a state.
type place string

func (p place) log() string { return string(p) + ".log" }

// read returns nil if no control plane runs: the file does not exist, or its
// process is gone.
func (p place) read() (*state, error) {
	body, err := os.ReadFile(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no control plane runs
	}
	if err != nil {
		return nil, err
	}
	s := new(state)
	if err := json.Unmarshal(body, s); err != nil || s.Pid <= 1 || s.Started == "" {
		return nil, fmt.Errorf("%s is not what up writes; delete it, and end by hand what it named: %s", p, body)
	}
	if startOf(s.Pid) != s.Started {
		return nil, nil //nolint:nilnil // it has ended; another process may have the pid now
	}
	return s, nil
}

// write is atomic: a reader never sees a part of the file.
func (p place) write(s state) error {
	body, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	next := string(p) + ".next"
	if err := os.WriteFile(next, append(body, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, string(p))
}

func (p place) remove() error {
	if err := os.Remove(string(p)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// lock prevents two commands from using one file concurrently. The lock ends
// with the process.
func (p place) lock() (unlock func(), err error) {
	f, err := os.OpenFile(string(p)+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another up or down is working on %s", p), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// startOf returns the start time of a process. With /proc it is in ticks since
// boot (proc_pid_stat(5), field 22, counted after the name in parentheses),
// otherwise it is the output of ps. It is empty if the process does not exist.
func startOf(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(fields) > 19 && fields[0][0] != 'Z' {
			return string(fields[19])
		}
		return ""
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		return ""
	}
	out, _ := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output() //nolint:noctx // it ends immediately
	return strings.TrimSpace(string(out))
}
