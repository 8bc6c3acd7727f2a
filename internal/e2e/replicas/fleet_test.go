// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/status"
)

// group has the rights of the controller in the tests' namespaces. Each replica
// is a separate user, so that the audit log tells them apart.
const group = "replicas"

// replica is a process and its user.
type replica struct {
	*rig.Process

	user string
}

// newStage creates a namespace in which replicas may work and elect leaders.
func newStage(t *testing.T, name string) *play.Stage {
	t.Helper()
	stage, err := play.NewStage(plane.Config(), name)
	require.NoError(t, err)
	ctx := t.Context()
	_, err = stage.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = stage.Kube.RbacV1().Roles(name).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "leaders"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "update"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	for kind, role := range map[string]string{"ClusterRole": "agentrun-controller", "Role": "leaders"} {
		_, err = stage.Kube.RbacV1().RoleBindings(name).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return stage
}

// start runs a replica in the stage's namespace until the test ends. It returns
// when the replica is ready. A replica that waits for a lease is ready, too.
func start(t *testing.T, stage *play.Stage, name string, args ...string) *replica {
	t.Helper()
	r := &replica{user: stage.Namespace + "-" + name}
	dir := filepath.Join(plane.Dir(), r.user)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	config, err := plane.User(r.user, group)
	require.NoError(t, err)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, config))
	r.Process, err = rig.Start(t.Context(), program, dir, kubeconfig,
		[]string{"POD_NAME=" + name, "POD_NAMESPACE=" + stage.Namespace}, append(args, "--namespaces="+stage.Namespace)...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Kill()) })
	return r
}

// elected are the flags of a replica that shares a lease with others.
func elected(name string) []string {
	return []string{"--leader-elect", "--leader-elect-lease-name=" + name, "--leader-elect-lease-duration=" + lease.String()}
}

// lease is the default of the flag. With a shorter one, a slow machine makes a
// leader lose its lease.
const lease = 15 * time.Second

// alive reports whether the process still runs.
func (r *replica) alive(ctx context.Context) bool {
	_, err := r.Metrics(ctx)
	return err == nil
}

// count returns the sum of a family's series that have all labels, or 0 if the
// replica does not answer.
func (r *replica) count(ctx context.Context, family string, labels map[string]string) (sum int) {
	families, err := r.Metrics(ctx)
	if err != nil {
		return 0
	}
	for _, m := range families[family].GetMetric() {
		matches := 0
		for _, l := range m.GetLabel() {
			if labels[l.GetName()] == l.GetValue() {
				matches++
			}
		}
		if matches == len(labels) {
			sum += int(m.GetGauge().GetValue() + m.GetCounter().GetValue())
		}
	}
	return sum
}

func (r *replica) leads(ctx context.Context) bool { return r.count(ctx, "controller_leader", nil) == 1 }

// newRun returns the i-th run of a series. A third fails.
func newRun(series string, i int, labels map[string]string) *v1alpha1.AgentRun {
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%03d", series, i), Labels: labels}}
	run.Spec.Image = "busybox:1.37"
	run.Spec.PodAnnotations = map[string]string{kubelet.DelayAnnotation: "300ms"}
	if i%3 == 1 {
		run.Spec.PodAnnotations[kubelet.OutcomeAnnotation] = kubelet.Fail
	}
	return run
}

// outcome is the phase in which a run of newRun ends.
func outcome(run *v1alpha1.AgentRun) v1alpha1.Phase {
	if run.Spec.PodAnnotations[kubelet.OutcomeAnnotation] == kubelet.Fail {
		return v1alpha1.Failed
	}
	return v1alpha1.Succeeded
}

// allEnded waits until the stage has n runs and all have ended. It calls
// meanwhile, if that is set, each time before it looks.
func allEnded(ctx context.Context, t *testing.T, stage *play.Stage, n int, meanwhile func()) (runs []v1alpha1.AgentRun) {
	t.Helper()
	eventually(ctx, t, fmt.Sprintf("%d runs have ended", n), func() bool {
		if meanwhile != nil {
			meanwhile()
		}
		list, err := stage.Runs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		runs = list.Items
		return len(ended(runs)) == n
	})
	return runs
}

// ended returns the runs that are terminal.
func ended(runs []v1alpha1.AgentRun) (done []v1alpha1.AgentRun) {
	for _, run := range runs {
		if run.Status.Phase.Progress() == status.Done {
			done = append(done, run)
		}
	}
	return done
}

// eventually asks until is returns true. The limit is ctx, which is generous: a
// slow machine must not fail the test.
func eventually(ctx context.Context, t *testing.T, what string, is func() bool) {
	t.Helper()
	for !is() {
		require.NoError(t, ctx.Err(), "waiting until %s", what)
		wait(ctx, 50*time.Millisecond)
	}
}

// wait sleeps for d of real time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
