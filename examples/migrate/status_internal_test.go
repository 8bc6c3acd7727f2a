// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/proompteng/controllerkit/status"
)

// way is one way to write a status: before or after the migration.
type way func(ctx context.Context, c client.Client, run *Run, failed error) error

func settingStatus(ctx context.Context, c client.Client, run *Run, _ error) error {
	return setStatusBefore(ctx, c, run, "Succeeded")
}

func (s *server) committingStatus(ctx context.Context, _ client.Client, run *Run, _ error) error {
	return setStatusAfter(ctx, s.ofStatus, run, "Succeeded")
}

func (s *server) committingConditions(ctx context.Context, _ client.Client, run *Run, failed error) error {
	return fluxAfter(ctx, s.ofConditions, run, failed)
}

// server is a fake API server that counts requests. Before each write it calls
// meanwhile once, so that another client can write.
type server struct {
	client.Client

	reads, writes int
	meanwhile     func(c client.Client)

	// The writers of the reconcilers.
	ofStatus, ofConditions status.Writer
}

func newServer(run *Run) *server {
	s := new(server)
	inner := fake.NewClientBuilder().WithScheme(NewScheme()).WithObjects(run).WithStatusSubresource(run).Build()
	wrote := func(c client.Client) {
		if do := s.meanwhile; do != nil {
			s.meanwhile = nil
			do(c)
		}
		s.writes++
	}
	s.Client = interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			s.reads++
			return c.Get(ctx, key, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			wrote(c)
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			wrote(c)
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			wrote(c)
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
	})
	s.ofStatus = newStatusWriter(s)
	s.ofConditions = newConditionsWriter(s)
	return s
}

func (s *server) stored(t *testing.T) *Run {
	t.Helper()
	run := new(Run)
	require.NoError(t, s.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "a"}, run))
	s.reads--
	return run
}

// ways are the controllers of s before and after their migration.
func (s *server) ways() map[string]way {
	return map[string]way{
		"flux before": fluxBefore, "flux after": s.committingConditions,
		"setStatus before": settingStatus, "setStatus after": s.committingStatus,
	}
}

// TestRequestsOfOneReconcile of a controller before and after its migration.
//
//req:shows A2
func TestRequestsOfOneReconcile(t *testing.T) {
	for name, want := range map[string]struct {
		reason                         string
		reads, writes, reads2, writes2 int
	}{
		"flux before":      {"reads, patches the conditions, then the rest of the status", 1, 2, 0, 0},
		"flux after":       {"one patch, and none when nothing changed", 0, 1, 0, 0},
		"setStatus before": {"reads and writes each time, for updatedAt moves", 1, 1, 1, 1},
		"setStatus after":  {"one patch, and none when nothing changed", 0, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(newRun())
			require.NoError(t, s.ways()[name](t.Context(), s, s.stored(t), nil))
			assert.Equal(t, []int{want.reads, want.writes}, []int{s.reads, s.writes}, want.reason)
			s.reads, s.writes = 0, 0
			require.NoError(t, s.ways()[name](t.Context(), s, s.stored(t), nil))
			assert.Equal(t, []int{want.reads2, want.writes2}, []int{s.reads, s.writes}, want.reason)
		})
	}
}

// TestASpecThatChangesMeanwhile: a result of generation 1 is recorded while
// generation 2 is stored.
func TestASpecThatChangesMeanwhile(t *testing.T) {
	for name, want := range map[string]struct {
		reason            string
		status, condition int64
	}{
		"flux before":      {"merged conditions are stamped with the generation that is stored", 1, 2},
		"flux after":       {"the generation that was read, everywhere", 1, 1},
		"setStatus before": {"the stored generation, not the computed one", 2, 0},
		"setStatus after":  {"the generation that was read", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(newRun())
			run := s.stored(t)
			respec := func(c client.Client) {
				live := s.stored(t)
				live.Generation = 2
				require.NoError(t, c.Update(t.Context(), live))
			}
			if name == "setStatus before" {
				respec(s.Client) // it reads the stored object, long after the reconcile began
			} else {
				s.meanwhile = respec
			}
			require.NoError(t, s.ways()[name](t.Context(), s, run, nil))
			got := s.stored(t).Status
			assert.Equal(t, want.status, got.ObservedGeneration, want.reason)
			var condition int64
			if len(got.Conditions) > 0 {
				condition = got.Conditions[0].ObservedGeneration
			}
			assert.Equal(t, want.condition, condition, want.reason)
		})
	}
}

// TestAnObjectThatIsCreatedAgainMeanwhile: the result of the old one is not the
// new one's.
func TestAnObjectThatIsCreatedAgainMeanwhile(t *testing.T) {
	for name, want := range map[string]struct {
		reason string
		err    error
	}{
		"flux before":      {"written onto the new object, without an error", nil},
		"flux after":       {"refused", status.ErrReplaced},
		"setStatus before": {"written onto the new object, without an error", nil},
		"setStatus after":  {"refused", status.ErrReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(newRun())
			run := s.stored(t)
			require.NoError(t, s.Delete(t.Context(), run))
			successor := newRun()
			successor.UID = "2"
			require.NoError(t, s.Create(t.Context(), successor))
			require.ErrorIs(t, s.ways()[name](t.Context(), s, run, nil), want.err, want.reason)
			got := s.stored(t)
			assert.Equal(t, types.UID("2"), got.UID)
			assert.Equal(t, want.err == nil, got.Status.ObservedGeneration == 1, want.reason)
		})
	}
}

// TestAStatusThatAnotherClientChangesMeanwhile: what is weaker after the
// migration.
func TestAStatusThatAnotherClientChangesMeanwhile(t *testing.T) {
	paused := func(run *Run) { run.Status.Phase = "Paused" }
	unready := func(run *Run) {
		unknown := metav1.Condition{Type: "Ready", Status: metav1.ConditionUnknown, Reason: "Moved"}
		apimeta.SetStatusCondition(&run.Status.Conditions, unknown)
	}
	foreign := func(run *Run) {
		synced := metav1.Condition{Type: "Synced", Status: metav1.ConditionTrue, Reason: "Synced"}
		apimeta.SetStatusCondition(&run.Status.Conditions, synced)
	}
	for _, tc := range []struct {
		reason, way  string
		other        func(run *Run)
		err          error
		phase, ready string
	}{
		{"the last one writes", "setStatus before", paused, nil, "Succeeded", ""},
		{"nothing is written", "setStatus after", paused, status.ErrFieldConflict, "Paused", ""},
		{"another field is kept", "flux before", paused, nil, "Paused", "True"},
		{"another field is a conflict as well", "flux after", paused, status.ErrFieldConflict, "Paused", ""},
		{"an owned condition is overwritten", "flux before", unready, nil, "", "True"},
		{"an owned condition is a conflict", "flux after", unready, status.ErrFieldConflict, "", "Unknown"},
		{"another's condition is carried over", "flux after", foreign, nil, "", "True"},
	} {
		t.Run(tc.way+", "+tc.reason, func(t *testing.T) {
			s := newServer(newRun())
			run := s.stored(t)
			s.meanwhile = func(c client.Client) {
				live := s.stored(t)
				tc.other(live)
				require.NoError(t, c.Status().Update(t.Context(), live))
			}
			require.ErrorIs(t, s.ways()[tc.way](t.Context(), s, run, nil), tc.err)
			got := s.stored(t).Status
			assert.Equal(t, tc.phase, got.Phase)
			ready := ""
			if c := apimeta.FindStatusCondition(got.Conditions, "Ready"); c != nil {
				ready = string(c.Status)
			}
			assert.Equal(t, tc.ready, ready)
		})
	}
}

// TestASecondCommit_BeginsWithWhatTheFirstOneLeft.
func TestASecondCommit_BeginsWithWhatTheFirstOneLeft(t *testing.T) {
	s := newServer(newRun())
	run := s.stored(t)
	read := run.DeepCopy()
	require.NoError(t, setStatusAfter(t.Context(), s.ofStatus, run, "Running"))
	require.ErrorIs(t, setStatusAfter(t.Context(), s.ofStatus, read, "Succeeded"), status.ErrStaleRead)
	require.NoError(t, setStatusAfter(t.Context(), s.ofStatus, run, "Succeeded")) // copies run
	assert.Equal(t, "Succeeded", s.stored(t).Status.Phase)
}

// pointed is a Run whose status is a pointer.
type pointed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Status *RunStatus `json:"status,omitempty"`
}

func (p *pointed) DeepCopyObject() runtime.Object {
	meta := p.ObjectMeta
	out := &pointed{TypeMeta: p.TypeMeta, ObjectMeta: *meta.DeepCopy()}
	if p.Status != nil {
		out.Status = &(&Run{Status: *p.Status}).DeepCopy().Status
	}
	return out
}

// TestAPointerStatus: before may have none, and after needs one.
func TestAPointerStatus(t *testing.T) {
	before := &pointed{ObjectMeta: newRun().ObjectMeta}
	before.ResourceVersion = "1"
	after, ok := before.DeepCopyObject().(*pointed)
	require.True(t, ok)
	_, err := status.FieldNames{}.Patch(before, after, status.Facts{}, time.Now())
	require.ErrorContains(t, err, "is nil; set it to a struct")
	if after.Status == nil {
		after.Status = new(RunStatus)
	}
	after.Status.Phase = "Running"
	patch, err := status.FieldNames{}.Patch(before, after, status.Facts{Progress: status.Running}, time.Now())
	require.NoError(t, err)
	assert.Contains(t, string(patch), `"phase":"Running"`)
}

// TestSetStatus_LeavesTheCachesObjectAlone: what a lister returns is shared.
func TestSetStatus_LeavesTheCachesObjectAlone(t *testing.T) {
	s := newServer(newRun())
	cached := s.stored(t)
	before := cached.DeepCopy()
	require.NoError(t, setStatusOfCached(t.Context(), s.ofStatus, cached, "Succeeded"))
	assert.Equal(t, before, cached)
	assert.Equal(t, "Succeeded", s.stored(t).Status.Phase)
}
