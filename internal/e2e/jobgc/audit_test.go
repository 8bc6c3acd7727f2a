// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/rig"
	"github.com/proompteng/controllerkit/examples/agentrun/samples"
)

// TestRequestsOfANormalRun reads in the API server's own audit log what a run costs: beside the creation of its Job and the writes of
// its status there is one patch, and no read.
func TestRequestsOfANormalRun(t *testing.T) {
	t.Parallel()
	const runs = 20
	s := newStage(t)
	stage, err := samples.NewStage(plane.Config(), s.namespace)
	require.NoError(t, err)
	logs := filepath.Join(plane.Dir(), t.Name())
	require.NoError(t, os.MkdirAll(logs, 0o700))
	p, err := rig.Start(t.Context(), program, logs, kubeconfig, nil, "--namespaces="+s.namespace)
	require.NoError(t, err)
	for i := range runs {
		run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("run-%02d", i)}, Spec: v1alpha1.AgentRunSpec{Image: "busybox:1.37"}}
		_, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	released := func() (n int) {
		jobs, err := s.jobs.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, job := range jobs.Items {
			if job.Annotations["jobgc.controllerkit.dev/released"] != "" {
				n++
			}
		}
		return n
	}
	eventually(t, "all runs have ended and their Jobs are released", func() bool { return released() == runs })
	require.NoError(t, p.Stop())
	want := map[string]int{"create jobs": runs, "patch jobs": runs}
	got := s.audited(t)
	writes := got["patch agentruns/status"]
	delete(got, "patch agentruns/status")
	t.Logf("gate: %d runs cost %v, and %d status writes", runs, got, writes)
	for _, verb := range []string{"list", "watch"} { // of the informers
		assert.LessOrEqual(t, got[verb+" jobs"], 2)
		delete(got, verb+" jobs")
		delete(got, verb+" agentruns")
	}
	assert.Equal(t, want, got, "no read, one patch")
	assert.GreaterOrEqual(t, writes, 3*runs, "intent, uid, result")
	assert.LessOrEqual(t, writes, 4*runs, "and that it runs")

	// A restarted controller finds all of them done, without a request for any.
	p, err = rig.Start(t.Context(), program, logs, kubeconfig, nil, "--namespaces="+s.namespace)
	require.NoError(t, err)
	_, err = stage.Runs.Create(t.Context(), &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: "last"}, Spec: v1alpha1.AgentRunSpec{Image: "busybox:1.37"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "a run after the others has ended too", func() bool { return released() == runs+1 })
	require.NoError(t, p.Stop())
	again := s.audited(t)
	assert.Equal(t, runs+1, again["patch jobs"])
	assert.Zero(t, again["get jobs"])
	assert.LessOrEqual(t, again["patch agentruns/status"], writes+4)
}

// audited counts the requests of the example about the stage's namespace by verb and resource, those about events apart.
func (s *stage) audited(t *testing.T) map[string]int {
	t.Helper()
	file, err := os.Open(plane.AuditLog())
	require.NoError(t, err)
	defer file.Close()
	counts := map[string]int{}
	var lines []string
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		var event struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Namespace, Resource, Subresource string }
		}
		if json.Unmarshal(scanner.Bytes(), &event) != nil || event.User.Username != rig.User || event.ObjectRef.Namespace != s.namespace {
			continue
		}
		if event.ObjectRef.Resource == "events" {
			continue
		}
		name := strings.TrimSuffix(event.Verb+" "+event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource, "/")
		counts[name]++
		lines = append(lines, name)
	}
	require.NotEmpty(t, lines, "the audit log has requests")
	slices.Sort(lines)
	return counts
}
