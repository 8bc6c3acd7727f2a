// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package play plays the example's samples on a cluster. A sample's promise is
// in its own file, as annotations: the demo and the end-to-end tests compare
// the cluster with it.
package play

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/samples"
)

// The annotations that a sample's file carries.
const (
	prefix         = "demo.controllerkit.dev/"
	phase          = prefix + "phase"            // the run's last phase
	reason         = prefix + "reason"           // and its reason
	eventReasons   = prefix + "events"           // the reasons of its events, in order
	job            = prefix + "job"              // "gone": no Job is left
	deleteJobAfter = prefix + "delete-job-after" // the reason at which the demo deletes the Job
	applyAfter     = prefix + "apply-after"      // on a Secret: create it when that run has that reason
	cancelAfter    = prefix + "cancel-after"     // the reason at which the demo cancels the run
)

// Sample is one file: a run, what happens to it from outside, and what it
// promises to become.
type Sample struct {
	File  string
	Title string // the file's first comment
	Run   *v1alpha1.AgentRun

	DeleteJobAfter string
	Secret         *corev1.Secret // nil for most
	SecretAfter    string
	Quota          *corev1.ResourceQuota // nil for most
	CancelAfter    string

	Phase, Reason string
	Events        []string
	JobGone       bool
}

// Load reads every sample.
func Load() ([]*Sample, error) {
	entries, err := samples.Files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var all []*Sample
	for _, e := range entries {
		body, err := samples.Files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		s, err := parse(e.Name(), string(body))
		if err != nil {
			return nil, fmt.Errorf("samples/%s: %w", e.Name(), err)
		}
		all = append(all, s)
	}
	return all, nil
}

func parse(file, body string) (*Sample, error) {
	first, _, _ := strings.Cut(body, "\n")
	s := &Sample{File: file, Title: strings.TrimPrefix(first, "# ")}
	for doc := range strings.SplitSeq(body, "\n---\n") {
		var kind metav1.TypeMeta
		err := yaml.Unmarshal([]byte(doc), &kind)
		if err != nil {
			return nil, err
		}
		into := map[string]any{"AgentRun": &s.Run, "Secret": &s.Secret, "ResourceQuota": &s.Quota}[kind.Kind]
		if into == nil {
			const accepted = "AgentRun, Secret or ResourceQuota"
			return nil, fmt.Errorf("kind %q is not accepted; want %s", kind.Kind, accepted)
		}
		err = yaml.UnmarshalStrict([]byte(doc), into)
		if err != nil {
			return nil, err
		}
	}
	if s.Run == nil {
		return nil, errors.New("it has no AgentRun")
	}
	if s.Secret != nil {
		s.SecretAfter = s.Secret.Annotations[applyAfter]
	}
	said := s.Run.Annotations
	s.Phase, s.Reason = said[phase], said[reason]
	s.DeleteJobAfter, s.CancelAfter, s.JobGone = said[deleteJobAfter], said[cancelAfter], said[job] == "gone"
	if said[eventReasons] != "" {
		s.Events = strings.Split(said[eventReasons], ",")
	}
	return s, nil
}
