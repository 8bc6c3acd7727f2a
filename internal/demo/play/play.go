// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/client"
	"github.com/proompteng/controllerkit/status"
)

// Stage is where samples are played: one namespace of a cluster whose
// controller is running.
type Stage struct {
	Namespace string
	Kube      kubernetes.Interface
	Runs      *client.Client
}

// NewStage makes the clients for a namespace.
func NewStage(config *rest.Config, namespace string) (*Stage, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	runs, err := client.New(config)
	if err != nil {
		return nil, err
	}
	return &Stage{Namespace: namespace, Kube: kube, Runs: runs(namespace)}, nil
}

// CreateNamespace creates the stage's namespace.
func (on *Stage) CreateNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: on.Namespace}}
	_, err := on.Kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	return err
}

// Pause waits for a time, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Restrict makes the namespace refuse privileged pods.
func (on *Stage) Restrict(ctx context.Context) error {
	body := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`)
	namespaces := on.Kube.CoreV1().Namespaces()
	_, err := namespaces.Patch(ctx, on.Namespace, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// Create creates the sample's quota and its run.
func (s *Sample) Create(ctx context.Context, on *Stage) error {
	if s.Quota != nil {
		err := on.Limit(ctx, s.Quota)
		if err != nil {
			return err
		}
	}
	_, err := on.Runs.Create(ctx, s.Run, metav1.CreateOptions{})
	return err
}

// Play performs the actions in the sample's file on its run, each at its
// moment, and waits until the run is terminal.
func (s *Sample) Play(ctx context.Context, on *Stage) error {
	for _, action := range []struct {
		at string // a reason of the run; empty if the sample does not ask for the action
		do func(context.Context, *Stage) error
	}{
		{s.SecretAfter, s.createSecret},
		{s.DeleteJobAfter, s.deleteJob},
		{s.CancelAfter, s.cancel},
	} {
		if action.at == "" {
			continue
		}
		err := on.until(ctx, s.Run.Name, action.at)
		if err != nil {
			return err
		}
		err = action.do(ctx, on)
		if err != nil {
			return err
		}
	}
	return on.wait(ctx, s.Run.Name, "terminal", Terminal)
}

func (s *Sample) createSecret(ctx context.Context, on *Stage) error {
	_, err := on.Kube.CoreV1().Secrets(on.Namespace).Create(ctx, s.Secret, metav1.CreateOptions{})
	return err
}

// deleteJob deletes the Job of the sample's run.
func (s *Sample) deleteJob(ctx context.Context, on *Stage) error {
	run, err := on.Runs.Get(ctx, s.Run.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	background := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	return on.Kube.BatchV1().Jobs(on.Namespace).Delete(ctx, run.Status.JobRef.Name, background)
}

func (s *Sample) cancel(ctx context.Context, on *Stage) error {
	body := []byte(`{"spec":{"cancel":true}}`)
	_, err := on.Runs.Patch(ctx, s.Run.Name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// Limit creates the quota. Its status is written too, because the local control
// plane has no controller for that.
func (on *Stage) Limit(ctx context.Context, quota *corev1.ResourceQuota) error {
	quotas := on.Kube.CoreV1().ResourceQuotas(on.Namespace)
	made, err := quotas.Create(ctx, quota, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	used := corev1.ResourceList{}
	for name := range made.Spec.Hard {
		used[name] = resource.Quantity{}
	}
	made.Status = corev1.ResourceQuotaStatus{Hard: made.Spec.Hard, Used: used}
	_, err = quotas.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return nil // the cluster's own controller was faster
	}
	return err
}

// Check compares the cluster with the sample's promises and returns the
// differences. Events and the last update of a Job may come a moment after the
// run's end. Check waits for them until ctx ends, 30 seconds at most.
func (s *Sample) Check(ctx context.Context, on *Stage) []string {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var differs []string
	_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var err error
		differs, err = s.differences(ctx, on)
		if err != nil {
			differs = append(differs, err.Error())
		}
		return len(differs) == 0, nil
	})
	return differs
}

// differences compares the run, its Events and its Job with the promises.
func (s *Sample) differences(ctx context.Context, on *Stage) (differs []string, err error) {
	name := s.Run.Name
	run, err := on.Runs.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	st := run.Status
	if string(st.Phase) != s.Phase || st.Reason != s.Reason {
		differs = append(differs,
			fmt.Sprintf("%s: %s/%s, promised %s/%s", name, st.Phase, st.Reason, s.Phase, s.Reason))
	}
	if st.FinishedAt == nil || st.ObservedGeneration != run.Generation {
		differs = append(differs, fmt.Sprintf("%s: finishedAt %v, observedGeneration %d of %d",
			name, st.FinishedAt, st.ObservedGeneration, run.Generation))
	}
	happened, err := on.Events(ctx, name)
	if err != nil {
		return differs, err
	}
	var reasons []string
	for _, e := range happened {
		reasons = append(reasons, e.Reason)
	}
	if !slices.Equal(reasons, s.Events) {
		differs = append(differs, fmt.Sprintf("%s: events [%s], promised [%s]",
			name, strings.Join(reasons, " "), strings.Join(s.Events, " ")))
	}
	if !s.JobGone {
		return differs, nil
	}
	_, err = on.Kube.BatchV1().Jobs(on.Namespace).Get(ctx, st.JobRef.Name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		differs = append(differs, name+": its Job is still there, promised to be gone")
	}
	return differs, nil
}

// Events of a run, in the order they first happened.
func (on *Stage) Events(ctx context.Context, run string) ([]corev1.Event, error) {
	about := metav1.ListOptions{FieldSelector: "involvedObject.kind=AgentRun,involvedObject.name=" + run}
	list, err := on.Kube.CoreV1().Events(on.Namespace).List(ctx, about)
	if err != nil {
		return nil, err
	}
	first := func(e corev1.Event) time.Time {
		if e.EventTime.IsZero() {
			return e.FirstTimestamp.Time
		}
		return e.EventTime.Time
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return first(a).Compare(first(b)) })
	return list.Items, nil
}

// until waits for a run to have a reason.
func (on *Stage) until(ctx context.Context, run, reason string) error {
	reached := func(run *v1alpha1.AgentRun) bool { return run.Status.Reason == reason }
	return on.wait(ctx, run, "at "+reason, reached)
}

// Terminal reports whether a run has ended.
func Terminal(run *v1alpha1.AgentRun) bool { return run.Status.Phase.Progress() == status.Done }

func (on *Stage) wait(ctx context.Context, name, what string, reached func(*v1alpha1.AgentRun) bool) error {
	var last *v1alpha1.AgentRun
	look := func(ctx context.Context) (bool, error) {
		run, err := on.Runs.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // a fault of the API server passes, or ctx ends
		}
		last = run
		return reached(run), nil
	}
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, look)
	if err != nil && last != nil {
		st := last.Status
		return fmt.Errorf("AgentRun %s is not %s but %s/%s: %w", name, what, st.Phase, st.Reason, err)
	}
	if err != nil {
		return fmt.Errorf("AgentRun %s is not %s: %w", name, what, err)
	}
	return nil
}
