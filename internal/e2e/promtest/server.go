// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package promtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Job is one scrape configuration.
type Job struct {
	Name string
	// URL is the address of the metrics, such as http://127.0.0.1:8080/metrics.
	URL string
	// Labels are added to the target's series, for example namespace: agents.
	Labels map[string]string
	// Interval is the scrape interval in whole milliseconds. Zero means a
	// second.
	Interval time.Duration
}

// Server is a Prometheus on the loopback address, with exemplars stored.
type Server struct {
	// API is the API of the server. Query is stricter.
	API promv1.API

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how it ended; read after done
}

// Start runs a Prometheus that keeps its data and its log in dir, and returns
// when it is ready. It ends with Stop, with ctx, and with this process.
func Start(ctx context.Context, dir string, jobs ...Job) (*Server, error) {
	program, _, err := Binaries(ctx)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, configuration(jobs), 0o600); err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	for attempt := 0; ; attempt++ { // another process may take the free port first
		s, err := start(ctx, program, config, dir)
		if err == nil || attempt == 4 || ctx.Err() != nil {
			return s, err
		}
	}
}

// configuration returns JSON, which is also YAML.
func configuration(jobs []Job) []byte {
	type target struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels,omitempty"`
	}
	type scrape struct {
		Job      string   `json:"job_name"`
		Scheme   string   `json:"scheme"`
		Path     string   `json:"metrics_path"`
		Interval string   `json:"scrape_interval"`
		Timeout  string   `json:"scrape_timeout"`
		Static   []target `json:"static_configs"`
	}
	var all []scrape
	for _, j := range jobs {
		u, err := url.Parse(j.URL)
		if err != nil {
			u = &url.URL{Host: j.URL} // Prometheus reports the error in it
		}
		interval := fmt.Sprintf("%dms", cmp.Or(j.Interval, time.Second).Milliseconds())
		all = append(all, scrape{j.Name, u.Scheme, u.Path, interval, interval, []target{{[]string{u.Host}, j.Labels}}})
	}
	body, _ := json.Marshal(map[string]any{"scrape_configs": all}) // strings can be encoded
	return body
}

func start(ctx context.Context, program, config, dir string) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	address := l.Addr().String()
	_ = l.Close()

	log, err := os.Create(filepath.Join(dir, "prometheus.log"))
	if err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	defer log.Close()
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	if err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	s := &Server{API: promv1.NewAPI(client), done: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--enable-feature=exemplar-storage", "--log.level=warn")
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = dir, log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // Pdeathsig is sent when the thread ends that started the process: go.dev/issue/27505
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.err = s.cmd.Wait()
			close(s.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	for {
		if _, err := s.API.Buildinfo(ctx); err == nil { // answered with 503 until it is ready
			return s, nil
		}
		select {
		case <-s.done:
			said, _ := os.ReadFile(log.Name())
			return nil, errors.Join(fmt.Errorf("promtest: prometheus ended: %w: %s", s.err, bytes.TrimSpace(said)), context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop stops the server.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("promtest: %w", err)
	}
	<-s.done
	return nil
}

// Query sends an instant query whose answer is a vector or a scalar. A warning
// of Prometheus, such as for the rate of a gauge, is an error.
func (s *Server) Query(ctx context.Context, expr string) (model.Vector, error) {
	answer, warnings, infos, err := s.API.Query(ctx, expr, time.Now())
	if err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	if len(warnings)+len(infos) > 0 {
		return nil, fmt.Errorf("promtest: %s: %q %q", expr, warnings, infos)
	}
	switch a := answer.(type) {
	case model.Vector:
		return a, nil
	case *model.Scalar:
		return model.Vector{{Value: a.Value, Timestamp: a.Timestamp}}, nil
	}
	return nil, fmt.Errorf("promtest: %s: the answer is a %s", expr, answer.Type())
}
