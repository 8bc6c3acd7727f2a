// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Process is a controller that runs.
type Process struct {
	// URL of its endpoint.
	URL string
	// Log is the file that it writes to, one JSON object a line.
	Log string

	cmd   *exec.Cmd
	ended chan error
}

// Start runs the controller at path against the cluster of a kubeconfig file
// and returns once its caches are filled. Its log is appended to a file in dir.
// It passes on only PATH and HOME of the environment, and adds env.
func Start(ctx context.Context, path, dir, kubeconfig string, env []string, args ...string) (*Process, error) {
	p := &Process{Log: filepath.Join(dir, "agentrun.log"), ended: make(chan error, 1)}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own descriptor
	from, err := log.Seek(0, 2)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.Command(path, append([]string{"--kubeconfig=" + kubeconfig, "--metrics-bind-address=127.0.0.1:0", "--log-format=json"}, args...)...) //nolint:noctx // Stop and Kill end it: a context would kill it without grace
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
	p.cmd.Stderr = log
	// Ctrl-C is for the caller, who then stops it in order; but it never
	// outlives the caller.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // Pdeathsig is sent when the thread ends that started the process: go.dev/issue/27505
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.ended <- p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	if err := p.ready(ctx, from); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// ready waits for the address in the log, and then for /readyz.
func (p *Process) ready(ctx context.Context, from int64) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	for {
		if p.URL == "" {
			p.URL = p.listening(from)
		}
		if p.URL != "" {
			if resp, err := p.get(ctx, "/readyz"); err == nil {
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return nil
				}
			}
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			return fmt.Errorf("the controller ended: %w; its log is %s", err, p.Log)
		case <-ctx.Done():
			return fmt.Errorf("the controller is not ready: %w; its log is %s", ctx.Err(), p.Log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (p *Process) listening(from int64) string {
	f, err := os.Open(p.Log)
	if err != nil {
		return ""
	}
	defer f.Close()
	if _, err := f.Seek(from, 0); err != nil {
		return ""
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			return "http://" + line.Address
		}
	}
	return ""
}

// Stop asks the controller to end, as a kubelet does, and waits for it. It
// returns the program's exit error.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-p.ended:
		p.ended <- err
		return err
	case <-time.After(30 * time.Second): // Kubernetes' default grace period
		return errors.Join(errors.New("the controller did not end within 30 seconds of SIGTERM"), p.Kill())
	}
}

// Wait waits until the controller ends by itself. It returns the program's exit
// error.
func (p *Process) Wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	select {
	case err := <-p.ended:
		p.ended <- err
		return err
	case <-ctx.Done():
		return fmt.Errorf("the controller still runs: %w; its log is %s", ctx.Err(), p.Log)
	}
}

// Kill ends the controller immediately (SIGKILL).
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	err := <-p.ended
	p.ended <- err
	return nil
}

// Metrics scrapes the controller once.
func (p *Process) Metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	resp, err := p.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET /metrics: %s", resp.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(resp.Body)
}

func (p *Process) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+path, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}
