// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/client"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/status"
)

// stage is a namespace with two clients. One is the controller under test,
// whose requests are counted. The other acts for all other programs.
type stage struct {
	namespace    string
	wire         *suite.Wire
	ours, theirs *party
}

// party has the clients of one user.
type party struct {
	runs    *client.Client
	dynamic func(schema.GroupVersionResource) dynamic.ResourceInterface
	kube    kubernetes.Interface
}

// newStage makes a namespace for the test.
func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageAs(t, plane.Config())
}

// newStageAs creates a stage whose controller uses config.
func newStageAs(t *testing.T, config *rest.Config) *stage {
	t.Helper()
	theirs := newParty(t, plane.Config(), "")
	ns, err := theirs.kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "status-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	s := &stage{namespace: ns.Name, wire: &suite.Wire{}, theirs: newParty(t, plane.Config(), ns.Name)}
	config = rest.CopyConfig(config)
	config.Wrap(s.wire.Around)
	s.ours = newParty(t, config, ns.Name)
	return s
}

func newParty(t *testing.T, config *rest.Config, namespace string) *party {
	t.Helper()
	kube, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	dyn, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	ofRuns, err := client.New(config)
	require.NoError(t, err)
	return &party{
		runs: ofRuns(namespace),
		dynamic: func(r schema.GroupVersionResource) dynamic.ResourceInterface {
			return dyn.Resource(r).Namespace(namespace)
		},
		kube: kube,
	}
}

// create creates an AgentRun that was never reconciled.
func (s *stage) create(t *testing.T, name string) *v1alpha1.AgentRun {
	t.Helper()
	p, err := s.theirs.runs.Create(t.Context(), &v1alpha1.AgentRun{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.AgentRunSpec{Image: "old"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return p
}

// reconciled creates an AgentRun, reconciles it once as Pending, and returns
// the stored object.
func (s *stage) reconciled(t *testing.T, name string) *v1alpha1.AgentRun {
	t.Helper()
	before := s.create(t, name)
	after := before.DeepCopy()
	after.Status.Reason = "Pending"
	setCondition(after, "Ready", metav1.ConditionFalse, "Pending")
	_, err := via(s.ours.runs.Patch, status.Writer{}).Commit(t.Context(), before, after, waiting)
	require.NoError(t, err)
	s.wire.Take()
	return s.read(t, name)
}

// read returns the stored AgentRun.
func (s *stage) read(t *testing.T, name string) *v1alpha1.AgentRun {
	t.Helper()
	p, err := s.theirs.runs.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return p
}

// object creates an object through the dynamic client.
func (s *stage) object(t *testing.T, r schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	kind := strings.ToUpper(r.Resource[:1]) + strings.TrimSuffix(r.Resource[1:], "s")
	if r == runs {
		kind = "AgentRun"
	}
	u, err := s.theirs.dynamic(r).Create(t.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": r.GroupVersion().String(), "kind": kind, "metadata": object{"name": name}, "spec": object{"image": "old"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return u
}

// The facts of the tests.
var (
	waiting = status.Facts{}
	running = status.Facts{Progress: status.Running}
)

// setCondition sets a condition like a controller.
func setCondition(p *v1alpha1.AgentRun, typ string, verdict metav1.ConditionStatus, reason string) {
	status.SetCondition(&p.Status.Conditions, metav1.Condition{Type: typ, Status: verdict, Reason: reason}, time.Now())
}

// sameStatus checks that after has the stored status, so that it can be the
// next before.
func sameStatus(t *testing.T, stored, after *v1alpha1.AgentRun) {
	t.Helper()
	want, err := json.Marshal(stored.Status)
	require.NoError(t, err)
	got, err := json.Marshal(after.Status)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
	require.Equal(t, stored.ResourceVersion, after.ResourceVersion)
}

// withReason returns a copy whose first condition has this reason.
func withReason(p *v1alpha1.AgentRun, reason string) *v1alpha1.AgentRun {
	p = p.DeepCopy()
	p.Status.Conditions[0].Reason = reason
	return p
}

// readLoose reads the stored object as a dynamic client does.
func (s *stage) readLoose(t *testing.T, r schema.GroupVersionResource) *unstructured.Unstructured {
	t.Helper()
	u, err := s.theirs.dynamic(r).Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	return u
}
