// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/status"
)

// report is a Report of examples/service, whose types are in its main package.
type report struct {
	Metadata metav1.ObjectMeta
	Status   struct {
		status.Stamp

		Phase string
		Job   struct {
			Name string
			UID  types.UID
		}
		Conditions []metav1.Condition
	}
}

// TestTheService runs the program of examples/service as its service account,
// with its role. It is killed while 20 Reports are in flight, and started
// again. Each Report has one Job, ends with the result of that Job, and is
// released. Another Report is invalid, and has one Event.
//
//req:shows A1
func TestTheService(t *testing.T) {
	t.Parallel()
	const reports = 20
	stage := plane.NewStage(t)
	kubectl := func(stdin string, args ...string) string {
		out, err := plane.Admin.Run(t.Context(), []byte(stdin), append([]string{"--namespace=" + stage.Namespace}, args...)...)
		require.NoError(t, err)
		return out
	}
	example := filepath.Join("..", "..", "examples", "service")
	require.NoError(t, plane.InstallCRDs(t.Context(), filepath.Join(example, "crd.yaml")))
	role, err := os.ReadFile(filepath.Join(example, "role.yaml"))
	require.NoError(t, err)
	own := strings.ReplaceAll(string(role), "namespace: reports", "namespace: "+stage.Namespace)
	kubectl(own, "apply", "-f", "-")

	config := plane.Config()
	config.CertData = nil
	config.KeyData = nil
	config.BearerToken = strings.TrimSpace(kubectl("", "create", "token", "reports"))
	dir := filepath.Join(plane.Dir(), t.Name())
	require.NoError(t, os.MkdirAll(dir, 0o700))
	kubeconfig := filepath.Join(dir, "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, config))
	program := filepath.Join(dir, "service")
	build := exec.CommandContext(t.Context(), "go", "build", suite.RaceFlag(), "-o", program,
		"github.com/proompteng/controllerkit/examples/service")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	log := filepath.Join(dir, "service.log")
	start := func() *exec.Cmd {
		file, err := os.Create(log)
		require.NoError(t, err)
		defer file.Close()
		cmd := exec.CommandContext(t.Context(), program, "-listen=127.0.0.1:0", "-namespace="+stage.Namespace)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		cmd.Stderr = file
		require.NoError(t, cmd.Start())
		return cmd
	}
	read := func(name string) (r report) {
		text := kubectl("", "get", "reports.service.example.com", name, "-o", "yaml")
		require.NoError(t, yaml.Unmarshal([]byte(text), &r))
		return r
	}

	var created []string
	for i := range reports {
		name := fmt.Sprintf("report-%02d", i)
		created = append(created, fmt.Sprintf(
			"{apiVersion: service.example.com/v1, kind: Report, metadata: {name: %s}, spec: {image: busybox}}", name))
	}
	service := start()
	defer func() { _ = service.Process.Kill() }()
	address := listening(t, log)
	suite.Eventually(t, "it is ready", func(context.Context) bool {
		return get(t, address, "/readyz") == "ok\n"
	})
	kubectl(strings.Join(created, "\n---\n"), "apply", "-f", "-")
	jobs := func(ctx context.Context) []batchv1.Job {
		list, err := stage.Kube.BatchV1().Jobs(stage.Namespace).List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		return list.Items
	}
	suite.Eventually(t, "Jobs are created", func(ctx context.Context) bool { return len(jobs(ctx)) > reports/4 })
	require.NoError(t, service.Process.Kill())
	require.Error(t, service.Wait())

	service = start()
	address = listening(t, log)
	kubectl("", "wait", "reports.service.example.com", "--all", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=4m")
	kubectl(`{apiVersion: service.example.com/v1, kind: Report, metadata: {name: invalid}, spec: {image: ""}}`, "apply", "-f", "-")
	kubectl("", "wait", "reports.service.example.com", "invalid", "--for=jsonpath={.status.phase}=Failed", "--timeout=4m")
	suite.Eventually(t, "each Job is released", func(ctx context.Context) bool {
		released := 0
		for _, job := range jobs(ctx) {
			if job.Spec.TTLSecondsAfterFinished != nil {
				released++
			}
		}
		return released == reports
	})
	metrics := get(t, address, "/metrics")
	assert.Contains(t, metrics, `controller_leader{lease="reports"} 1`)
	assert.Contains(t, metrics, `controller_cache_age_seconds{resource="reports"}`)
	require.NoError(t, service.Process.Signal(syscall.SIGTERM))
	require.NoError(t, service.Wait(), "it ends with 0: the Events are written")

	creations, pods := plane.Jobs(t, stage.Namespace)
	for name, times := range creations { // none if the service was killed before the answer
		assert.Equal(t, 1, times, "creations of Job %s", name)
	}
	for name, times := range pods {
		assert.Equal(t, 1, times, "pods of Job %s", name)
	}
	assert.Len(t, pods, reports, "Jobs that ran")
	for i := range reports {
		r := read(fmt.Sprintf("report-%02d", i))
		assert.Equal(t, r.Metadata.Generation, r.Status.ObservedGeneration)
		assert.NotNil(t, r.Status.StartedAt)
		assert.NotNil(t, r.Status.FinishedAt)
		assert.Contains(t, pods, r.Status.Job.Name)
		require.Len(t, r.Status.Conditions, 1)
		assert.Equal(t, metav1.ConditionTrue, r.Status.Conditions[0].Status)
	}
	invalid := read("invalid")
	assert.Equal(t, "InvalidSpec", invalid.Status.Conditions[0].Reason)
	assert.Contains(t, invalid.Status.Conditions[0].Message, "spec.template.spec.containers[0].image")
	list, err := stage.Kube.EventsV1().Events(stage.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=InvalidSpec"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	assert.Equal(t, "invalid", list.Items[0].Regarding.Name)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "is forbidden", "the role is enough")
}

// listening waits for the address in the log of the service.
func listening(t *testing.T, log string) (address string) {
	t.Helper()
	suite.Eventually(t, "it listens", func(context.Context) bool {
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		for written := range bytes.Lines(text) {
			var line struct{ Msg, Address string }
			if json.Unmarshal(written, &line) == nil && line.Msg == "Listening" {
				address = line.Address
			}
		}
		return address != ""
	})
	return address
}

// get reads a page of the service.
func get(t *testing.T, address, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}
