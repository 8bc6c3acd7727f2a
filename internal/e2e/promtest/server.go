// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package promtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Job is one scrape configuration: a target that is scraped every second.
type Job struct {
	Name string
	// URL is the address of the metrics, such as http://127.0.0.1:8080/metrics.
	URL string
	// Labels are put onto the target's series, for example namespace: agents.
	Labels map[string]string
}

// Server is a Prometheus on the loopback address, with exemplars stored.
type Server struct {
	// URL is that of its API, without a slash at its end.
	URL  string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how; read after done
}

// Start runs a Prometheus that keeps its data and its log in dir, and returns when it is ready. It ends with Stop, with ctx, and with
// this process.
func Start(ctx context.Context, dir string, jobs ...Job) (*Server, error) {
	program, _, err := Binaries(ctx)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, configuration(jobs), 0o600); err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	for attempt := 0; ; attempt++ { // another process may take the free port in between
		s, err := start(ctx, program, config, dir)
		if err == nil || attempt == 4 || ctx.Err() != nil {
			return s, err
		}
	}
}

// configuration is JSON, which is YAML.
func configuration(jobs []Job) []byte {
	type target struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels,omitempty"`
	}
	type scrape struct {
		Job    string   `json:"job_name"`
		Scheme string   `json:"scheme"`
		Path   string   `json:"metrics_path"`
		Static []target `json:"static_configs"`
	}
	var all []scrape
	for _, j := range jobs {
		u, err := url.Parse(j.URL)
		if err != nil {
			u = &url.URL{Host: j.URL} // Prometheus says what is wrong with it
		}
		all = append(all, scrape{j.Name, u.Scheme, u.Path, []target{{[]string{u.Host}, j.Labels}}})
	}
	body, _ := json.Marshal(map[string]any{ // strings can be encoded
		"global":         map[string]string{"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
		"scrape_configs": all,
	})
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
	s := &Server{URL: "http://" + address, done: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--enable-feature=exemplar-storage", "--log.level=warn")
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = dir, log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.done)
	}()
	for {
		if _, err := s.get(ctx, "/-/ready", nil); err == nil {
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

// Stop ends the server.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("promtest: %w", err)
	}
	<-s.done
	return nil
}

// Sample is one value of an answer, with its labels.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Query asks an instant query whose answer is a vector or a scalar. What Prometheus warns of, such as a rate of a gauge, is an error.
func (s *Server) Query(ctx context.Context, expr string) ([]Sample, error) {
	body, err := s.get(ctx, "/api/v1/query", url.Values{"query": {expr}})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Warnings, Infos []string
		Data            struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	if len(answer.Warnings)+len(answer.Infos) > 0 {
		return nil, fmt.Errorf("promtest: %s: %q %q", expr, answer.Warnings, answer.Infos)
	}
	var vector []struct {
		Metric map[string]string
		Value  [2]any
	}
	switch answer.Data.ResultType {
	case "vector":
	case "scalar":
		answer.Data.Result = fmt.Appendf(nil, `[{"value":%s}]`, answer.Data.Result)
	default:
		return nil, fmt.Errorf("promtest: %s: the answer is a %s", expr, answer.Data.ResultType)
	}
	if err := json.Unmarshal(answer.Data.Result, &vector); err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	var out []Sample
	for _, v := range vector {
		value, err := strconv.ParseFloat(fmt.Sprint(v.Value[1]), 64)
		if err != nil {
			return nil, fmt.Errorf("promtest: %w", err)
		}
		out = append(out, Sample{v.Metric, value})
	}
	return out, nil
}

// get reads one page of the server's.
func (s *Server) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		return nil, fmt.Errorf("promtest: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("promtest: %s: %s: %s", path, resp.Status, bytes.TrimSpace(b.Bytes()))
	}
	return b.Bytes(), nil
}
