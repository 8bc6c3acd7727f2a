// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	_ "embed"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/yaml"
)

const (
	runName = "run"
	userAct = 500 * time.Millisecond // how long a user takes to act
)

type values = map[string]any

// story is a kind of run, and what a user does to it.
type story struct {
	Name   string
	Agent  string
	Spec   values // in addition to the usual fields
	Owners []values
	Given  []request // before the run
	When   string    // the user acts. Empty means never.
	Then   []request
	// Ends are phase and reason without faults.
	Ends string
	Jobs int
}

// request is a write of a user. Without a name it is for each object.
type request struct {
	Verb, Resource, Name string
	Body                 values
}

//go:embed testdata/stories.yaml
var storiesFile []byte

// stories has each kind of run that a controller treats differently.
func stories(t *testing.T) (all []story) {
	t.Helper()
	require.NoError(t, yaml.UnmarshalStrict(storiesFile, &all))
	return all
}

// isDue reports whether the user acts after a change.
func (of *story) isDue(c change) bool {
	status, _ := c.object.Object["status"].(values)
	switch of.When {
	case "the run exists":
		return c.resource == runs
	case "the run runs":
		return c.base() == runs && status["phase"] == "Running"
	case "the run has ended":
		return runEnded(c)
	case "the Job exists":
		return c.resource == jobs && c.kind == watch.Added
	case "the pod runs":
		return c.base() == jobs && status["active"] != nil
	}
	return false
}

func runEnded(c change) bool {
	status, _ := c.object.Object["status"].(values)
	return c.base() == runs && status["finishedAt"] != nil
}

// ask makes the writes of a user.
func (s *server) ask(all []request) {
	for _, r := range all {
		names := []string{r.Name}
		if r.Name == "" {
			s.mu.Lock()
			names = slices.Collect(maps.Keys(s.list(r.Resource, len(s.history))))
			s.mu.Unlock()
		}
		for _, name := range names {
			s.do(byUser, r.Verb, r.Resource, "", name, r.Body)
		}
	}
}

// createRun creates the run of a story.
func createRun(s *server, of *story) {
	s.ask(of.Given)
	spec := values{
		"image": "agent", "backoffLimit": 0, "jobTTLSecondsAfterFinished": 60,
		"podAnnotations": values{agentAnnotation: of.Agent},
	}
	maps.Copy(spec, of.Spec)
	metadata := values{"name": runName, "namespace": namespace, "ownerReferences": of.Owners}
	s.do(byUser, "create", runs, "", runName, values{
		"apiVersion": "agents.controllerkit.dev/v1alpha1", "kind": "AgentRun", "metadata": metadata, "spec": spec,
	})
}
