// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package promtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Job is one scrape configuration.
type Job struct {
	Name string
	// URL is the server that has /metrics, such as http://127.0.0.1:8080.
	URL string
	// Labels are added to the target's series, for example namespace: agents.
	Labels map[string]string
	// Native makes the server scrape native histograms.
	Native bool
}

// Server is a Prometheus on the loopback address, with exemplars stored.
type Server struct {
	// API is the API of the server. Query is stricter.
	API promv1.API
}

// Start runs a Prometheus that scrapes a job twice a second. It returns when
// the server is ready. The server ends with the test, or with this process.
func Start(t *testing.T, j Job) *Server {
	t.Helper()
	program, _, err := Binaries(t.Context())
	require.NoError(t, err)
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	log := filepath.Join(dir, "prometheus.log")
	require.NoError(t, os.WriteFile(config, j.configuration(t), 0o600))
	output, err := os.Create(log)
	require.NoError(t, err)

	features := "exemplar-storage"
	if j.Native {
		features += ",native-histograms"
	}
	cmd := exec.CommandContext(t.Context(), program,
		"--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:0",
		"--enable-feature="+features)
	cmd.Stdout = output
	cmd.Stderr = output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ended := make(chan struct{})
	go func() {
		// Pdeathsig is sent when the thread ends that started the process:
		// go.dev/issue/27505
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		defer output.Close()
		fmt.Fprintln(output, cmd.Run())
	}()
	t.Cleanup(func() { <-ended })

	s := new(Server)
	listening := regexp.MustCompile(`msg="Listening on".* address=(\S+)`)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		said, err := os.ReadFile(log)
		require.NoError(c, err)
		address := listening.FindSubmatch(said)
		require.NotNil(c, address, string(said))
		client, err := api.NewClient(api.Config{Address: "http://" + string(address[1])})
		require.NoError(c, err)
		s.API = promv1.NewAPI(client)
		_, err = s.API.Buildinfo(t.Context()) // answered with 503 until it is ready
		require.NoError(c, err)
	}, time.Minute, 50*time.Millisecond)
	return s
}

// configuration returns JSON, which is also YAML.
func (j Job) configuration(t *testing.T) []byte {
	t.Helper()
	type object = map[string]any
	body, err := json.Marshal(object{
		"global": object{"scrape_interval": "500ms", "scrape_timeout": "500ms"},
		"scrape_configs": []object{{"job_name": j.Name, "static_configs": []object{
			{"targets": []string{strings.TrimPrefix(j.URL, "http://")}, "labels": j.Labels},
		}}},
	})
	require.NoError(t, err)
	return body
}

// Query sends an instant query whose answer is a vector or a scalar. A warning
// of Prometheus, such as for the rate of a gauge, is an error.
func (s *Server) Query(ctx context.Context, expr string) (model.Vector, error) {
	answer, warnings, infos, err := s.API.Query(ctx, expr, time.Now())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	if len(warnings)+len(infos) > 0 {
		return nil, fmt.Errorf("%s: %q %q", expr, warnings, infos)
	}
	switch a := answer.(type) {
	case model.Vector:
		return a, nil
	case *model.Scalar:
		return model.Vector{{Value: a.Value, Timestamp: a.Timestamp}}, nil
	}
	return nil, fmt.Errorf("%s: the answer is a %s", expr, answer.Type())
}

// Values is Query for an answer that must have values, all of them finite.
func (s *Server) Values(ctx context.Context, expr string) (model.Vector, error) {
	samples, err := s.Query(ctx, expr)
	if err == nil && len(samples) == 0 {
		err = errors.New("no values: " + expr)
	}
	for _, sample := range samples {
		if v := float64(sample.Value); math.IsNaN(v) || math.IsInf(v, 0) {
			err = fmt.Errorf("%s is %v: %s", sample.Metric, v, expr)
		}
	}
	return samples, err
}
