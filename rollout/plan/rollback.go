// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/rollout"
)

// liveRollout is the part of a live Rollout that a rollback is planned by. Unlike rollout.Validate it takes any Rollout that a
// cluster may hold: going back must be possible from a bad one too.
type liveRollout struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas    *int32                `json:"replicas"`
		Selector    *metav1.LabelSelector `json:"selector"`
		WorkloadRef *rollout.WorkloadRef  `json:"workloadRef"`
		Strategy    strategy              `json:"strategy"`
	} `json:"spec"`
	Status struct {
		CurrentPodHash string `json:"currentPodHash"`
		StableRS       string `json:"stableRS"`
	} `json:"status"`
}

// Rollback plans the way back from a live Rollout to the Deployment of the same pods; for Reference, to the one it refers to. hpas
// may be all of the namespace. An empty method is SideBySide. It works from the middle of a canary too. A Rollout without a status,
// such as Convert makes, gives a preview, with a warning.
//
// The replicas are those of the live Rollout, whatever to has. Errors, all at once, are for what would lose capacity: the
// wrong method for a workloadRef, another selector, for Adopt a Deployment that may have pods unavailable while they
// change hands, a strategy Recreate, two HorizontalPodAutoscalers, Services that the controller keeps to its own pods. Nothing
// given is changed.
func Rollback(live *unstructured.Unstructured, to *appsv1.Deployment, hpas []autoscalingv2.HorizontalPodAutoscaler, m Method) (Plan, field.ErrorList) {
	if live == nil || to == nil {
		return Plan{}, field.ErrorList{field.Required(field.NewPath("live"), "a plan needs the live Rollout and the Deployment")}
	}
	if live.GroupVersionKind() != rollout.GVK() {
		return Plan{}, field.ErrorList{field.NotSupported(field.NewPath("live", "kind"), live.GroupVersionKind().String(), []string{rollout.GVK().String()})}
	}
	var from liveRollout
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &from); err != nil {
		return Plan{}, field.ErrorList{field.TypeInvalid(field.NewPath("live"), field.OmitValueType{}, err.Error())}
	}
	b := &builder{namespace: from.Namespace}
	m = b.method(m)
	b.names(from.Name, to.Name)
	kept := to.Spec.Replicas
	to = deployment(&from, to)
	b.sameDeployment(&from, to, m)
	b.noServicesAnyMore(&from)
	scaler := b.scaler(hpas, "Rollout", from.Name, "Deployment", to.Name)
	if len(b.errs) > 0 {
		return Plan{}, b.errs
	}
	b.warnTools(from.Labels, from.Annotations)
	if live.Object["status"] == nil {
		b.warn("The Rollout has no status. A plan needs the live one, as kubectl get -o yaml shows it: replicas are taken from it, and whether a canary is in progress.")
	}
	b.warnCanary(&from, m)

	file, available := to.Name+"-deployment.json", b.kubectl("rollout status deployment/"+to.Name+" --timeout="+patience(*to.Spec.Replicas))
	if m != Reference {
		b.write("the Deployment", file, to)
		b.do("Let the server check it without storing it", b.kubectl("apply --server-side --dry-run=server --validate=strict -f "+file), "")
	}
	switch m {
	case Adopt:
		b.do("Leave the ReplicaSets and pods of the Rollout without an owner; they run on",
			b.kubectl("delete rollout "+from.Name+" --cascade=orphan --ignore-not-found"),
			b.kubectl("wait --for=delete rollout/"+from.Name+" --timeout=60s"))
		b.do("Create the Deployment; it adopts them by its selector, and replaces pod by pod", b.kubectl("apply --server-side --validate=strict -f "+file), available)
		b.holdReplicas(scaler, kept, deploymentKind(), to.Name, *to.Spec.Replicas)
		b.handOver(scaler, deploymentKind(), to.Name)
	case Reference:
		b.neverScaleDown(&from)
		b.do("Scale the Deployment up to as many pods as the Rollout has",
			b.kubectl(fmt.Sprintf("scale deployment %s --replicas=%d", to.Name, replicas(from.Spec.Replicas))), available)
		b.handOver(scaler, deploymentKind(), to.Name)
		b.remove(from.Name)
	default:
		b.do("Create the Deployment beside the Rollout", b.kubectl("apply --server-side --validate=strict -f "+file), available)
		b.holdReplicas(scaler, kept, deploymentKind(), to.Name, *to.Spec.Replicas)
		b.handOver(scaler, deploymentKind(), to.Name)
		b.remove(from.Name)
	}
	return b.plan, nil
}

// deployment is to as it is applied: without what only a server sets.
func deployment(from *liveRollout, to *appsv1.Deployment) *appsv1.Deployment {
	to = to.DeepCopy()
	to.APIVersion, to.Kind = deploymentKind().ToAPIVersionAndKind()
	if to.Namespace == "" {
		to.Namespace = from.Namespace
	}
	to.UID, to.ResourceVersion, to.Generation, to.ManagedFields = "", "", 0, nil
	to.CreationTimestamp, to.DeletionTimestamp, to.DeletionGracePeriodSeconds = metav1.Time{}, nil, nil
	delete(to.Annotations, "deployment.kubernetes.io/revision")
	delete(to.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	to.Status = appsv1.DeploymentStatus{}
	to.Spec.Replicas = new(replicas(from.Spec.Replicas))
	return to
}

func (b *builder) sameDeployment(from *liveRollout, to *appsv1.Deployment, m Method) {
	if from.DeletionTimestamp != nil {
		b.add(field.Forbidden(field.NewPath("live", "metadata", "deletionTimestamp"), "the Rollout is being deleted"))
	}
	if to.Namespace != from.Namespace {
		b.add(field.Invalid(field.NewPath("metadata", "namespace"), to.Namespace, "must be that of the Rollout, "+from.Namespace))
	}
	if to.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		b.add(field.NotSupported(field.NewPath("spec", "strategy", "type"), to.Spec.Strategy.Type,
			[]appsv1.DeploymentStrategyType{appsv1.RollingUpdateDeploymentStrategyType}))
	}
	ref := from.Spec.WorkloadRef
	switch {
	case ref == nil && m == Reference:
		b.add(field.Required(field.NewPath("live", "spec", "workloadRef"), "the method Reference needs one; use SideBySide or Adopt"))
	case ref != nil && m != Reference:
		b.add(field.Forbidden(field.NewPath("live", "spec", "workloadRef"),
			"needs the method Reference: the Deployment stands at 0 replicas and would stay there when the Rollout goes"))
	case ref != nil && (ref.Kind != "Deployment" || ref.Name != to.Name):
		b.add(field.Invalid(field.NewPath("metadata", "name"), to.Name, "must be that of the live workloadRef, "+ref.Kind+" "+ref.Name))
	case ref == nil && !equalSelectors(from.Spec.Selector, to.Spec.Selector):
		b.add(field.Invalid(field.NewPath("spec", "selector"), metav1.FormatLabelSelector(to.Spec.Selector),
			"must be that of the Rollout, "+metav1.FormatLabelSelector(from.Spec.Selector)))
	}
	if m == Adopt {
		fences := appsv1.RollingUpdateDeployment{}
		if u := to.Spec.Strategy.RollingUpdate; u != nil {
			fences = *u
		}
		b.noneUnavailable(fences.MaxSurge, fences.MaxUnavailable, replicas(from.Spec.Replicas), field.NewPath("spec", "strategy", "rollingUpdate", "maxUnavailable"))
	}
}

func (b *builder) warnCanary(from *liveRollout, m Method) {
	if s := from.Status; s.StableRS == "" || s.StableRS == s.CurrentPodHash {
		return
	}
	if m == Reference {
		b.warn("A canary is in progress, and the Deployment has its template: scaled up, it runs the new version everywhere. Put the old template back first if that is not meant.")
		return
	}
	b.warn("A canary is in progress. Both versions are replaced by that of the Deployment: make sure it has the image you want.")
}

// neverScaleDown: while the Rollout is at its first revision, any other value puts the Deployment straight back to 0.
func (b *builder) neverScaleDown(from *liveRollout) {
	if down := from.Spec.WorkloadRef.ScaleDown; down == "" || down == "never" {
		return
	}
	b.do("Keep the controller from scaling the Deployment down again, which it does at its first revision",
		b.kubectl("patch rollout "+from.Name+` --type=merge -p '{"spec":{"workloadRef":{"scaleDown":"never"}}}'`),
		b.untilObserved(from.Name, ""))
}

func (b *builder) remove(name string) {
	b.do("Remove the Rollout and its pods", b.kubectl("delete rollout "+name+" --ignore-not-found"),
		b.kubectl("wait --for=delete rollout/"+name+" --timeout=600s"))
}
