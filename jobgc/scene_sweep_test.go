// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/jobgc/expire"
	holding "github.com/proompteng/controllerkit/jobgc/hold"
)

// The sweeps of the packages hold and expire in a scene.

func (s *scene) sweep(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	if word(t, d, "hold", "expire") == "hold" {
		s.sweepHolds(t)
	} else {
		s.sweepRuns(t)
	}
}

func (s *scene) sweepHolds(t *testing.T) {
	t.Helper()
	jobs := func(string) heldJobs { return heldJobs{s} }
	owners := func(string) sceneOwners { return sceneOwners{s} }
	sweeper, err := holding.New(jobs, owners, s.options.Finalizer, holding.Options{})
	require.NoError(t, err)
	report, err := sweeper.Sweep(t.Context())
	require.NoError(t, err)
	s.say("released %d, held %d", report.Released, report.Held)
	s.show()
}

func (s *scene) sweepRuns(t *testing.T) {
	t.Helper()
	client := func(string) sceneOwners { return sceneOwners{s} }
	list := func() []any { return []any{s.processes["a"].copied} }
	finished := func(o *sceneOwner) (time.Time, *int32) { return o.endedAt, nil }
	answer := &http.Response{Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}}
	server := new(expire.ServerTime)
	_, err := server.Wrap(answering{answer}).RoundTrip(new(http.Request))
	require.NoError(t, err)
	sweeper, err := expire.New(client, list, finished, server, expire.Options{TTL: 24 * time.Hour})
	require.NoError(t, err)
	deleted, err := sweeper.Sweep(t.Context(), time.Now())
	require.NoError(t, err)
	s.say("deleted %d", deleted)
}

// answering answers each request.
type answering struct{ *http.Response }

func (a answering) RoundTrip(*http.Request) (*http.Response, error) { return a.Response, nil }

// heldJobs are the metadata of the Jobs.
type heldJobs struct{ s *scene }

func (h heldJobs) List(context.Context, metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	out := &metav1.PartialObjectMetadataList{}
	for _, name := range h.s.named() {
		out.Items = append(out.Items, metav1.PartialObjectMetadata{ObjectMeta: h.s.jobs[name].ObjectMeta})
	}
	return out, nil
}

func (h heldJobs) Patch(
	_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*metav1.PartialObjectMetadata, error) {
	job, err := h.s.patchJob(name, data)
	if err != nil {
		return nil, err
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: job.ObjectMeta}, nil
}

// sceneOwners are the metadata of the owner, and its deletion.
type sceneOwners struct{ s *scene }

func (o sceneOwners) List(context.Context, metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	out := &metav1.PartialObjectMetadataList{}
	if o.s.owner != nil {
		out.Items = append(out.Items, metav1.PartialObjectMetadata{ObjectMeta: o.s.owner.ObjectMeta})
	}
	return out, nil
}

func (o sceneOwners) Delete(_ context.Context, _ string, opts metav1.DeleteOptions) error {
	current := o.s.owner
	same := current != nil && *opts.Preconditions.UID == current.UID
	if !same || *opts.Preconditions.ResourceVersion != current.ResourceVersion {
		return notFoundOf("agents.example.com", "agentruns", "run")
	}
	o.s.putOwner(nil)
	return nil
}
