// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// deletingOwner has a finished Job, and waits for its result with a finalizer
// of its own.
func deletingOwner(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, jobgc.Options{Finalizer: "agents.example.com/result"})
	s.step(t)
	s.store.sync(s.server)
	s.stored.DeletionTimestamp = ptr.To(metav1.Now())
	s.stored.Finalizers = []string{"example.com/waits"}
	s.change(jobOfRun, finish(time.Now()))
	s.store.sync(s.server)
	return s
}

// TestStep_DeletingOwnerLetsGo: of an owner whose record is the Ref alone, such
// as a ConfigMap with an annotation.
func TestStep_DeletingOwnerLetsGo(t *testing.T) {
	s := deletingOwner(t)
	for range 5 {
		ref, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.NoError(t, err)
		s.stored.job, s.stored.done = ref, ref.Outcome != ""
		s.store.sync(s.server)
	}
	assert.Empty(t, s.jobs[jobOfRun].Finalizers, "%+v", s.stored.job)
}
