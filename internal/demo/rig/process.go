// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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
	ended chan struct{} // closed when it has ended, and err is set
	err   error
	from  int64 // where its log begins
}

// Start runs the controller at path against the cluster of a kubeconfig file
// and returns once it is ready. Its log is appended to a file in dir. It passes
// on only PATH and HOME of the environment, and adds env.
func Start(
	ctx context.Context, path, dir, kubeconfig string, env []string, args ...string,
) (*Process, error) {
	p := &Process{Log: filepath.Join(dir, "agentrun.log"), ended: make(chan struct{})}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own descriptor
	if p.from, err = log.Seek(0, 2); err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	p.URL = "http://" + address
	usual := []string{"--kubeconfig=" + kubeconfig, "--metrics-bind-address=" + address}
	// Stop and Kill end it: a context would kill it without grace.
	p.cmd = exec.Command(path, append(usual, args...)...) //nolint:noctx // as above
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
	p.cmd.Stderr = log
	// Ctrl-C is for the caller, who then stops it in order; but it never
	// outlives the caller.
	p.cmd.SysProcAttr = dependent()
	started := make(chan error)
	go func() {
		// Pdeathsig is sent when the thread ends that started the process:
		// go.dev/issue/27505.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	if err := p.ready(ctx); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// freeAddress returns an unused address of this machine. Its port is below the
// ports that the system chooses, so that no other program gets it before the
// controller listens.
func freeAddress(ctx context.Context) (string, error) {
	var refused error
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(18_000))
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err == nil {
			return l.Addr().String(), l.Close()
		}
		refused = err
	}
	return "", refused
}

// ready waits for /readyz.
func (p *Process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	for {
		resp, err := p.get(ctx, "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the controller ended: %w; its log is %s", p.err, p.Log)
		case <-ctx.Done():
			return fmt.Errorf("the controller is not ready: %w; its log is %s", ctx.Err(), p.Log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Lines returns the lines of the process's log that are JSON.
func Lines[T any](p *Process) (all []T, err error) {
	f, err := os.Open(p.Log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(p.from, 0); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line T
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			all = append(all, line)
		}
	}
	return all, lines.Err()
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// State is what the kernel says of the process, once it has ended.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// Stop asks the controller to end, as a kubelet does, and waits for it. It
// returns the program's exit error.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return p.err
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
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("the controller still runs: %w; its log is %s", ctx.Err(), p.Log)
	}
}

// Kill ends the controller immediately (SIGKILL).
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	return nil
}

// Dump ends the controller with SIGQUIT and returns what the Go runtime then
// prints: the stacks of all its goroutines. It needs no endpoint that a
// controller should not have.
func (p *Process) Dump(ctx context.Context) (stacks string, err error) {
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return "", err
	}
	ended := p.Wait(ctx)
	log, err := os.ReadFile(p.Log)
	if err != nil {
		return "", err
	}
	last := strings.LastIndex(string(log), "SIGQUIT: quit")
	if last < int(p.from) {
		return "", fmt.Errorf("the controller ended without stacks: %w", ended)
	}
	return string(log)[last:], nil
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

// Value returns the sum of a family's series that have all labels. A family
// without series is an error.
func (p *Process) Value(
	ctx context.Context, family string, labels map[string]string,
) (sum float64, err error) {
	families, err := p.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	if families[family] == nil {
		return 0, fmt.Errorf("GET /metrics: no %s", family)
	}
	for _, m := range families[family].GetMetric() {
		matches := 0
		for _, l := range m.GetLabel() {
			if labels[l.GetName()] == l.GetValue() {
				matches++
			}
		}
		if matches == len(labels) {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return sum, nil
}

func (p *Process) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+path, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}
