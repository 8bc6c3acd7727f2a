// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	batch "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// deletions is a cluster of which nothing is asked but to delete Jobs.
type deletions struct {
	kubernetes.Interface
	batch.BatchV1Interface
	batch.JobInterface

	answer error
}

func (d *deletions) BatchV1() batch.BatchV1Interface                            { return d }
func (d *deletions) Jobs(string) batch.JobInterface                             { return d }
func (d *deletions) Delete(context.Context, string, metav1.DeleteOptions) error { return d.answer }

// A Job that a proxy does not know may still be running: a cancelled run must not let it.
func TestACancelledRunsJobIsGoneOnlyIfTheServerSaysSo(t *testing.T) {
	answer := proxied("jobs")
	a := &attempt{Controller: &Controller{cluster: &deletions{answer: answer}}, run: newRun("nightly", "uid-1")}
	a.run.Status.JobRef = &jobgc.Ref{Namespace: "ns", Name: "s", UID: "job-1"}
	require.ErrorIs(t, a.discard(t.Context(), jobgc.Finding{}), answer)
	assert.False(t, a.run.Status.JobRef.Released, "it is tried again")
}
