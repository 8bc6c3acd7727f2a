// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observability runs a real Prometheus beside the example, for the proof that its dashboard and rules answer, and for a
// picture of what they show.
package observability

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/proompteng/controllerkit/internal/e2e/promtest"
)

// Job is the value of the label job of all that is scraped.
const Job = "agentrun"

// Prometheus is a Prometheus that runs, on loopback, until Stop.
type Prometheus struct {
	promv1.API

	log   string
	cmd   *exec.Cmd
	ended chan error
}

// Scrape is what Prometheus is told of its only job.
type Scrape struct {
	Targets  []string      // host:port
	Interval time.Duration // whole milliseconds
}

// StartPrometheus runs Debian's Prometheus with its data in dir, and returns once it answers.
func StartPrometheus(ctx context.Context, dir string, s Scrape) (*Prometheus, error) {
	path, _, err := promtest.Binaries(ctx)
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("scrape_configs:\n  - job_name: %s\n    scrape_interval: %dms\n    scrape_timeout: %dms\n    static_configs:\n      - targets: [%s]\n",
		Job, s.Interval.Milliseconds(), s.Interval.Milliseconds(), list(s.Targets))
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	if err != nil {
		return nil, err
	}
	p := &Prometheus{API: promv1.NewAPI(client), log: filepath.Join(dir, "prometheus.log"), ended: make(chan error, 1)}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()          // Prometheus has its own descriptor
	p.cmd = exec.Command(path, //nolint:noctx // Stop ends it: a context would kill it before its data is written
		"--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+address, "--enable-feature=exemplar-storage")
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	if err := p.ready(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func list(targets []string) (all string) {
	for _, t := range targets {
		all += fmt.Sprintf("%q,", t)
	}
	return all
}

// freeAddress is one that nobody listens on at this moment: Prometheus does not say which port it got.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (p *Prometheus) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	for {
		if _, err := p.Buildinfo(ctx); err == nil {
			return nil
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			return fmt.Errorf("prometheus ended: %w; its log is %s", err, p.log)
		case <-ctx.Done():
			return fmt.Errorf("prometheus does not answer: %w; its log is %s", ctx.Err(), p.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends Prometheus.
func (p *Prometheus) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-p.ended:
		p.ended <- err
		return err
	case <-time.After(20 * time.Second):
		return errors.Join(errors.New("prometheus did not end within 20 seconds"), p.cmd.Process.Kill())
	}
}

// Answer asks one query as of now. What is empty, not finite, or answered with a warning or a remark is an error.
func (p *Prometheus) Answer(ctx context.Context, query string) error {
	answer, warnings, infos, err := p.Query(ctx, query, time.Now())
	if err != nil {
		return err
	}
	if len(warnings)+len(infos) > 0 {
		return fmt.Errorf("warnings: %q %q", warnings, infos)
	}
	vector, ok := answer.(model.Vector)
	if !ok {
		return fmt.Errorf("the answer is a %T, not a vector", answer)
	}
	if len(vector) == 0 {
		return errors.New("the answer is empty")
	}
	for _, sample := range vector {
		if v := float64(sample.Value); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v", sample.Metric, v)
		}
	}
	return nil
}
