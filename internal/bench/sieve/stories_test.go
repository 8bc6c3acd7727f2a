// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

const (
	runName = "run"
	userAct = 500 * time.Millisecond // how long a user takes to act
)

type values = map[string]any

// story is a kind of run, and what a user does to it.
type story struct {
	name  string
	agent string
	spec  values // in addition to the usual fields
	owner bool   // another object owns the run
	// when reports whether the user acts after a change, once. Nil means never.
	when func(change) bool
	act  func(*server)
	// ends are phase, reason and number of Jobs without faults.
	ends string
	jobs int
}

// stories has each kind of run that a controller treats differently.
func stories() []story {
	return []story{
		{name: "succeeds", agent: succeeds, ends: "Succeeded JobSucceeded", jobs: 1},
		{name: "fails", agent: fails, ends: "Failed JobFailed", jobs: 1},
		{
			name: "releases its Job immediately", agent: succeeds, ends: "Succeeded JobSucceeded", jobs: 1,
			spec: values{"jobTTLSecondsAfterFinished": 0},
		},
		{
			name: "fails and releases its Job immediately", agent: fails, ends: "Failed JobFailed", jobs: 1,
			spec: values{"jobTTLSecondsAfterFinished": 0},
		},
		{name: "gets its pods late", agent: late, ends: "Succeeded JobSucceeded", jobs: 1},
		{
			name: "exceeds its time", agent: never, ends: "Failed JobFailed", jobs: 1,
			spec: values{"timeoutSeconds": 5},
		},
		{
			name: "expires", agent: succeeds, ends: "Succeeded JobSucceeded", jobs: 1,
			spec: values{"ttlSecondsAfterFinished": 1},
		},
		{
			name: "is cancelled", agent: never, ends: "Cancelled Cancelled", jobs: 1, //nolint:dupword // phase and reason
			when: podStarted, act: patchesSpec(values{"cancel": true}),
		},
		{
			name: "is resumed", agent: succeeds, ends: "Succeeded JobSucceeded", jobs: 1,
			spec: values{"suspend": true}, when: jobCreated, act: patchesSpec(values{"suspend": false}),
		},
		{name: "is deleted", agent: never, ends: "Running JobRunning", jobs: 1, when: podStarted, act: deletes(runs, runName)},
		{
			name: "is deleted when it has ended", agent: succeeds, ends: "Succeeded JobSucceeded", jobs: 1,
			when: runEnded, act: deletes(runs, runName),
		},
		{
			name: "is deleted with its owner", agent: never, ends: "Running JobRunning", jobs: 1, owner: true,
			when: podStarted, act: deletes("configmaps", "owner"),
		},
		{
			name: "is created again", agent: never, ends: "Succeeded JobSucceeded", jobs: 2,
			when: podStarted, act: func(s *server) {
				s.do(byUser, "delete", runs, "", runName, nil)
				createRun(s, &story{agent: succeeds})
			},
		},
		{
			name: "waits for its Secret", agent: succeeds, ends: "Succeeded JobSucceeded", jobs: 1,
			spec: values{"secretRef": values{"name": "agent", "key": "token"}},
			when: func(c change) bool { return c.resource == runs }, act: func(s *server) {
				s.do(byUser, "create", "secrets", "", "agent", values{
					"apiVersion": "v1", "kind": "Secret", "metadata": values{"name": "agent", "namespace": namespace},
					"data": values{"token": "dG9rZW4="},
				})
			},
		},
		{
			name: "loses its Job", agent: never, ends: "Failed WorkflowJobMissing", jobs: 1,
			when: runRecorded, act: func(s *server) {
				s.mu.Lock()
				all := s.list(jobs, len(s.history))
				s.mu.Unlock()
				for _, job := range all {
					s.do(byUser, "delete", jobs, "", job.GetName(), nil)
				}
			},
		},
		{
			name: "is refused", agent: succeeds, ends: "Failed InvalidSpec", jobs: 0,
			spec: values{"parameters": values{"prompt": "hello"}},
		},
	}
}

func jobCreated(c change) bool { return c.resource == jobs && c.kind == watch.Added }

func podStarted(c change) bool {
	status, _ := c.object.Object["status"].(values)
	return c.base() == jobs && status["active"] != nil
}

func runRecorded(c change) bool {
	status, _ := c.object.Object["status"].(values)
	return c.base() == runs && status["phase"] == "Running"
}

func runEnded(c change) bool {
	status, _ := c.object.Object["status"].(values)
	return c.base() == runs && status["finishedAt"] != nil
}

func patchesSpec(spec values) func(*server) {
	return func(s *server) { s.do(byUser, "patch", runs, "", runName, values{"spec": spec}) }
}

func deletes(resource, name string) func(*server) {
	return func(s *server) { s.do(byUser, "delete", resource, "", name, nil) }
}

// createRun creates the run of a story, and before it the owner that it may
// have.
func createRun(s *server, of *story) {
	metadata := values{"name": runName, "namespace": namespace}
	if of.owner {
		s.do(byUser, "create", "configmaps", "", "owner", values{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": values{"name": "owner", "namespace": namespace},
		})
		metadata["ownerReferences"] = []any{values{
			"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "con-1-of-a-plan",
		}}
	}
	spec := values{
		"image": "agent", "backoffLimit": 0, "jobTTLSecondsAfterFinished": 60,
		"podAnnotations": values{agentAnnotation: of.agent},
	}
	maps.Copy(spec, of.spec)
	s.do(byUser, "create", runs, "", runName, values{
		"apiVersion": "agents.controllerkit.dev/v1alpha1", "kind": "AgentRun", "metadata": metadata, "spec": spec,
	})
}
