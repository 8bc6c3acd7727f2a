// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
)

// TestTally_CountsWhatWasLost: run 1 succeeded and is reported as failed, run 3
// has not ended, and run 5 has had two Jobs and failed without an Event.
func TestTally_CountsWhatWasLost(t *testing.T) {
	count := new(tally)
	change := func(i int, version string, phase v1alpha1.Phase, job types.UID) {
		is := newRun(i)
		is.UID = types.UID(is.Name)
		is.ResourceVersion = version
		is.Status.Phase = phase
		is.Status.Reason = "Said"
		is.Status.JobRef = &jobgc.Ref{UID: job}
		was := is.DeepCopy()
		was.ResourceVersion = "1"
		count.change(was, is)
	}
	change(0, "2", v1alpha1.Succeeded, "a")
	change(1, "2", v1alpha1.Succeeded, "b")
	change(2, "2", v1alpha1.Failed, "c")
	count.change(nil, &corev1.Event{InvolvedObject: corev1.ObjectReference{UID: "run-00002"}})
	assert.Empty(t, count.differs())
	assert.Zero(t, count.silent())

	change(1, "1", v1alpha1.Succeeded, "b") // a watch that is restarted
	assert.Equal(t, 3, count.writes)
	change(1, "3", v1alpha1.Failed, "b")
	change(3, "2", v1alpha1.Running, "d")
	change(5, "2", v1alpha1.Failed, "e")
	change(5, "3", v1alpha1.Failed, "f")
	assert.Equal(t, 7, count.writes)
	assert.Equal(t, 4, count.ended())
	assert.Equal(t, 1, count.silent())
	assert.Equal(t, []string{
		"run-00001: its pod succeeded, and its status says Failed, Said",
		"run-00003: its pod succeeded, and its status says Running, Said",
		"run-00005: it has had another Job",
	}, count.differs())
}
