// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
)

// liveRollout is the part of a live Rollout that a rollback is planned by.
// Unlike rollout.Validate it takes any Rollout that a cluster may hold: going
// back must be possible from a bad one too.
type liveRollout struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas    *int32                  `json:"replicas"`
		Selector    *metav1.LabelSelector   `json:"selector"`
		Template    *corev1.PodTemplateSpec `json:"template"`
		WorkloadRef *rollout.WorkloadRef    `json:"workloadRef"`
		Strategy    strategy                `json:"strategy"`
		Paused      bool                    `json:"paused"`
	} `json:"spec"`
	Status struct {
		Abort          bool               `json:"abort"`
		CurrentPodHash string             `json:"currentPodHash"`
		StableRS       string             `json:"stableRS"`
		Observed       string             `json:"observedGeneration"`
		Workload       string             `json:"workloadObservedGeneration"`
		Conditions     []metav1.Condition `json:"conditions"`
	} `json:"status"`

	Unseen bool `json:"-"` // the status is not of this template
}

// Rollback plans the return from a live Rollout to the Deployment of the same
// pods. For Reference that is the Deployment in the workloadRef. hpas may be
// all of the namespace. A Rollout without a status, such as rollout.Convert
// makes, gives a preview: its script stops at the first step.
//
// The Deployment gets the replicas of the live Rollout. Rollback refuses what
// would lose capacity or replace a version, and reports all of it in one call:
// another image or a container more or less, and pods that may run a version
// other than the template's, unless Options.AllowTemplateChange; the wrong
// method for a workloadRef; another selector; for Adopt a Deployment that lets
// pods be unavailable; the strategy Recreate; a paused Deployment; two
// HorizontalPodAutoscalers; Services that the controller keeps to the Rollout's
// pods. Rollback changes none of its arguments.
func Rollback(live *unstructured.Unstructured, to *appsv1.Deployment, hpas []autoscalingv2.HorizontalPodAutoscaler, o Options) (Plan, field.ErrorList) {
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
	from.Unseen = from.unseen(to.Generation)
	b := newBuilder(from.Namespace, o)
	b.names(from.UID, from.Name, to.Name)
	kept, uid := to.Spec.Replicas, to.UID
	to = deployment(&from, to)
	b.sameDeployment(&from, to)
	b.noServicesAnyMore(&from)
	scaler := b.scaler(hpas, "Rollout", from.Name, "Deployment", to.Name)
	selector, _, _ := unstructured.NestedFieldNoCopy(live.Object, "spec", "selector")
	g, err := b.rollbackGuard(&from, selector, to, uid)
	if err != nil {
		b.add(field.InternalError(field.NewPath("spec"), err))
	}
	if len(b.errs) > 0 {
		return Plan{}, b.errs
	}
	b.warnOwners(&from.ObjectMeta)
	b.warnScalerOwners(scaler)
	b.warnPods(&to.Spec.Template.Spec)
	if live.Object["status"] == nil {
		b.warn("The Rollout has no status, so this is a preview: its script stops at the first step. A plan needs the live one, as kubectl get -o yaml shows it: replicas are taken from it, and whether a canary is in progress.")
	}
	b.warnCanary(&from)
	b.header(&from.ObjectMeta, "Rollout", "Deployment "+to.Name)

	file, n := to.Name+"-deployment.json", *to.Spec.Replicas
	b.check(g, checkFirst)
	if b.Method != Reference {
		b.write("the Deployment", file, to)
		b.do("Let the server check it without storing it", b.unlessThere(&g.after, b.apply("--dry-run=server -f "+file)), "")
	}
	switch b.Method {
	case Adopt:
		b.check(g, checkAgain)
		b.do("Leave the ReplicaSets and pods of the Rollout without an owner; they continue to run",
			b.remove("rollout "+from.Name, " --cascade=orphan"), b.untilGone("rollout/"+from.Name, 60))
		b.do("Create the Deployment; it adopts them by its selector, and replaces pod by pod", b.unlessThere(&g.after, b.apply("-f "+file)), b.untilAvailable(to.Name, n, to.Spec.MinReadySeconds))
		b.holdReplicas(scaler, kept, &g.after, deploymentKind(), n)
		b.handOver(scaler, deploymentKind(), to.Name)
		b.wayBack("plan.Migration", 0, "", nil)
		return b.plan, nil
	case Reference:
		b.neverScaleDown(&from, &g.before)
		b.do("Scale the Deployment up to as many pods as the Rollout has", b.whileThere(&g.before,
			fmt.Sprintf("(\nhave=$(%s) || exit 1\n[ \"${have:-0}\" -ge %d ] || %s\n)",
				b.find(&g.after, "{.spec.replicas}"), n, b.kubectl(fmt.Sprintf("scale deployment %s --replicas=%d", to.Name, n)))), b.untilAvailable(to.Name, n, to.Spec.MinReadySeconds))
	default:
		b.do("Create the Deployment next to the Rollout", b.unlessThere(&g.after, b.apply("-f "+file)), b.untilAvailable(to.Name, n, to.Spec.MinReadySeconds))
		b.holdReplicas(scaler, kept, &g.after, deploymentKind(), n)
	}
	g.target = b.handOver(scaler, deploymentKind(), to.Name)
	g.size = "{.status.availableReplicas}"
	b.check(g, checkAgain)
	undo := ""
	switch back := b.handBack(scaler, rollout.GVK(), from.Name); {
	case n == 0: // the other workload may have the only pods
	case b.Method == Reference:
		undo = back + b.kubectl("scale deployment "+to.Name+" --replicas=0")
	default:
		undo = back + b.remove("deployment "+to.Name, "")
	}
	b.wayBack("plan.Migration", len(b.plan.Actions), undo, scaler)
	b.do("Remove the Rollout and its pods", b.remove("rollout "+from.Name, ""), b.untilGone("rollout/"+from.Name, 600))
	return b.plan, nil
}

// rollbackGuard compares the Rollout with live, and its stable version too: a
// promotion changes nothing else. For Reference the plan itself changes the
// Rollout's generation.
func (b *builder) rollbackGuard(from *liveRollout, selector any, to *appsv1.Deployment, uid types.UID) (*guard, error) {
	g := &guard{before: state{kind: "Rollout", name: from.Name}, after: state{kind: "Deployment", name: to.Name}}
	if b.Method == SideBySide {
		g.twice = replicas(from.Spec.Replicas)
	}
	g.before.add("uid", "{.metadata.uid}", string(from.UID))
	if b.Method != Reference {
		g.size = "{.spec.replicas}"
		g.before.add("generation", "{.metadata.generation}", strconv.FormatInt(from.Generation, 10))
	}
	g.before.add("replicas", "{.spec.replicas}", count(from.Spec.Replicas))
	g.before.add("stable", "{.status.stableRS}", from.Status.StableRS)
	g.before.add("current", currentPath, from.Status.CurrentPodHash+from.createError())
	if t := from.Spec.Template; t != nil {
		if err := g.before.pods(t, selector); err != nil {
			return nil, err
		}
	}
	if b.Method == Reference && uid != "" {
		g.after.add("uid", "{.metadata.uid}", string(uid))
	}
	if b.Method == Adopt {
		known := "" // they have another template, or two
		if t := from.Spec.Template; t != nil && !b.AllowTemplateChange {
			known = images(t) // in the order of the Rollout's containers
		}
		g.orphans = b.orphaned(from.Spec.Selector, replicas(from.Spec.Replicas), known)
	}
	return g, g.after.pods(&to.Spec.Template, to.Spec.Selector)
}

// deployment is the Deployment that the plan applies, without the fields that
// only a server sets.
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
	to.Spec.Replicas = ptr.To(replicas(from.Spec.Replicas))
	carryMarks(&from.ObjectMeta, &to.ObjectMeta)
	return to
}

func (b *builder) sameDeployment(from *liveRollout, to *appsv1.Deployment) {
	if from.DeletionTimestamp != nil {
		b.add(field.Forbidden(field.NewPath("live", "metadata", "deletionTimestamp"), "the Rollout is being deleted"))
	}
	if to.Namespace != from.Namespace {
		b.add(field.Invalid(field.NewPath("metadata", "namespace"), to.Namespace, "must be the Rollout's, "+from.Namespace))
	}
	if to.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		b.add(field.NotSupported(field.NewPath("spec", "strategy", "type"), to.Spec.Strategy.Type,
			[]appsv1.DeploymentStrategyType{appsv1.RollingUpdateDeploymentStrategyType}))
	}
	if to.Spec.Paused {
		b.add(field.Forbidden(field.NewPath("spec", "paused"), "a paused Deployment starts no pods, and the plan waits for them; clear it"))
	}
	if from.unfinished() && !b.AllowTemplateChange {
		b.add(field.Forbidden(field.NewPath("live", "status", "stableRS"),
			from.canary()+" Promote it or put the old template back, and wait until the Rollout is healthy. Or set Options.AllowTemplateChange if the Deployment has the image that you want"))
	}
	ref := from.Spec.WorkloadRef
	switch {
	case ref == nil && b.Method == Reference:
		b.add(field.Required(field.NewPath("live", "spec", "workloadRef"), "the method Reference needs one; use SideBySide or Adopt"))
	case ref != nil && b.Method != Reference:
		b.add(field.Forbidden(field.NewPath("live", "spec", "workloadRef"),
			"needs the method Reference: the Deployment has 0 replicas and would keep them when the Rollout is deleted"))
	case ref != nil && (ref.Kind != "Deployment" || ref.Name != to.Name):
		b.add(field.Invalid(field.NewPath("metadata", "name"), to.Name, "must be the name in the live workloadRef, "+ref.Kind+" "+ref.Name))
	case ref == nil && !equalSelectors(from.Spec.Selector, to.Spec.Selector):
		b.add(field.Invalid(field.NewPath("spec", "selector"), metav1.FormatLabelSelector(to.Spec.Selector),
			"must be the Rollout's, "+metav1.FormatLabelSelector(from.Spec.Selector)))
	}
	if u := to.Spec.Strategy.RollingUpdate; u != nil {
		b.noneExclusive(u.MaxSurge, &to.Spec.Template.Spec, field.NewPath("spec", "strategy", "rollingUpdate", "maxSurge"))
	}
	if t := from.Spec.Template; t != nil && ref == nil {
		b.sameTemplate(rolledBack, t, &to.Spec.Template)
	}
	if b.Method == Adopt {
		bounds := appsv1.RollingUpdateDeployment{}
		if u := to.Spec.Strategy.RollingUpdate; u != nil {
			bounds = *u
		}
		b.noneUnavailable(bounds.MaxSurge, bounds.MaxUnavailable, replicas(from.Spec.Replicas), field.NewPath("spec", "strategy", "rollingUpdate", "maxUnavailable"))
	}
}

// unfinished: pods run a version that is not the one of the template.
func (r *liveRollout) unfinished() bool {
	if r.Status.StableRS == "" {
		return false
	}
	return r.Status.StableRS != r.Status.CurrentPodHash || r.Unseen || r.refused()
}

// refused: the controller has seen the template and has no ReplicaSet of it,
// because the API server refuses that. Its hashes and its phase are still of
// the template before. A version that is aborted or not ready in time has a
// ReplicaSet, and the hashes show it.
func (r *liveRollout) refused() bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c metav1.Condition) bool {
		stopped := c.Type == "Progressing" && c.Status == metav1.ConditionFalse
		return stopped && c.Reason != "ProgressDeadlineExceeded" && c.Reason != "RolloutAborted"
	})
}

// unseen: the controller has not looked at this generation yet, or refuses it.
// The hashes in the status are then those of the template before. A workload
// has generations of its own; 0 is one that was not read. While spec.paused is
// true, the controller only scales: it takes note of a generation and not of
// its template (Argo Rollouts v1.7 to v1.10).
func (r *liveRollout) unseen(workload int64) bool {
	return r.Spec.Paused || r.Status.Observed != "" && r.Status.Observed != strconv.FormatInt(r.Generation, 10) ||
		r.Spec.WorkloadRef != nil && workload != 0 && r.Status.Workload != strconv.FormatInt(workload, 10) ||
		slices.ContainsFunc(r.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "InvalidSpec" && c.Status != metav1.ConditionFalse })
}

const (
	// createError is the reason that the controller of Argo Rollouts (v1.10)
	// gives for a ReplicaSet that was refused.
	createError = "ReplicaSetCreateError"
	currentPath = `{.status.currentPodHash}{range .status.conditions[?(@.reason=="` + createError + `")]} ({.reason}){end}`
)

// createError is what currentPath prints after the hash.
func (r *liveRollout) createError() string {
	for i := range r.Status.Conditions {
		if r.Status.Conditions[i].Reason == createError {
			return " (" + createError + ")"
		}
	}
	return ""
}

// canary says what an unfinished one means.
func (r *liveRollout) canary() string {
	if r.Spec.Paused {
		return "The Rollout is paused by spec.paused: the pods may run another version than the template's. Resume it first."
	}
	if r.Unseen {
		return "The controller has not taken up this generation of the Rollout: the pods may run another version than the template's."
	}
	if r.refused() {
		return "The controller cannot create the ReplicaSet of the template: no pod runs this version, and status.phase is of the version before."
	}
	if r.Status.Abort {
		return "The canary was aborted: the pods run the stable version, and the template has the version that was rejected."
	}
	return "A canary is in progress: some pods run the stable version, which the template does not have."
}

func (b *builder) warnCanary(from *liveRollout) {
	switch {
	case !from.unfinished():
	case b.Method == Reference:
		b.warn(from.canary() + " The Deployment has the template: scaled up, it runs that version everywhere. Put the old template back first if that is not meant.")
	default:
		b.warn(from.canary() + " All pods are replaced by the Deployment's: make sure it has the image you want.")
	}
}

// neverScaleDown: while the Rollout is at its first revision, any other value
// puts the Deployment back to 0 immediately.
func (b *builder) neverScaleDown(from *liveRollout, before *state) {
	if down := from.Spec.WorkloadRef.ScaleDown; down == "" || down == "never" {
		return
	}
	b.do("Keep the controller from scaling the Deployment down again, which it does at its first revision",
		b.whileThere(before, b.kubectl("patch rollout "+from.Name+` --type=merge -p '{"spec":{"workloadRef":{"scaleDown":"never"}}}'`)),
		b.whileThere(before, b.untilObserved(from.Name)))
}
