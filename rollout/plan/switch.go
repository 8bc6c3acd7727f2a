// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"sigs.k8s.io/yaml"
)

const (
	deploymentKind = "Deployment"
	rolloutKind    = "Rollout"
)

// workload is a Deployment or a Rollout, as far as a plan needs to know it.
type workload struct {
	gvk      schema.GroupVersionKind
	meta     *metav1.ObjectMeta
	replicas int32
	minReady int32
	selector *metav1.LabelSelector
	template *corev1.PodTemplateSpec
}

// String is the workload as a person calls it.
func (w *workload) String() string { return w.gvk.Kind + " " + w.meta.Name }

// object is the workload as kubectl takes it.
func (w *workload) object() string { return strings.ToLower(w.gvk.Kind) + "/" + w.meta.Name }

// planner collects a plan, and its errors.
type planner struct {
	Options
	old, new *workload
	version  *version // of an old Rollout
	plan     Plan
	errs     field.ErrorList
}

// version says which pods a Rollout runs. A promotion changes nothing else.
type version struct{ stable, current string }

func (p *planner) add(errs ...*field.Error) { p.errs = append(p.errs, errs...) }

func (p *planner) warn(format string, args ...any) {
	p.plan.Warnings = append(p.plan.Warnings, fmt.Sprintf(format, args...))
}

func (p *planner) do(op Op, format string, args ...any) {
	p.plan.Steps = append(p.plan.Steps, Step{Do: fmt.Sprintf(format, args...), Op: op})
}

// finish returns the plan that replaces old by new, unless something is wrong.
func (p *planner) finish(
	manifest runtime.Object, scaler *unstructured.Unstructured,
) (Plan, field.ErrorList) {
	if len(p.errs) > 0 {
		return Plan{}, p.errs
	}
	p.plan.kubectl = kubectl(p.Context, p.old.meta.Namespace)
	if err := p.steps(manifest, scaler); err != nil {
		return Plan{}, field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	p.header()
	return p.plan, nil
}

func (p *planner) header() {
	where := ""
	if p.old.meta.Namespace != "" {
		where = " in namespace " + p.old.meta.Namespace
	}
	back := "plan.Rollback"
	if p.new.gvk.Kind == deploymentKind {
		back = "plan.Migration"
	}
	p.plan.header = []string{
		fmt.Sprintf("Replaces %s by %s%s.", p.old, p.new, where),
		"The old pods stay until the new ones are ready.",
		"Read it, then run it: sh FILE. After a stop, fix the cause and run it again.",
		"To undo it after the last step: make a plan by " + back + " and run it.",
		"To undo it before the last step, while " + p.old.object() + " has enough pods:",
	}
}

// steps adds the steps of the switch. Each passes if it was done before.
func (p *planner) steps(manifest runtime.Object, scaler *unstructured.Unstructured) error {
	planned, err := p.planned()
	if err != nil {
		return err
	}
	create, err := p.create(manifest)
	if err != nil {
		return err
	}
	release, err := p.release(create.Manager)
	if err != nil {
		return err
	}
	p.do(p.unchanged(), "Check that %s has not changed, or was replaced by an earlier run", p.old)
	p.do(planned, "Check that %s does not exist, or is of this plan", p.new)
	p.do(create, "Create %s with as many replicas as run now", p.new)
	p.do(release, "Leave the replicas to the next writer: a manifest, an autoscaler or a person")
	p.do(p.ready(), "Wait until %s has its pods", p.new)
	if scaler != nil {
		if err := p.handOver(scaler); err != nil {
			return err
		}
	}
	p.do(p.unchanged(), "Check again, because the next step takes pods away")
	p.do(
		Op{Verb: remove, Object: p.old.object(), terms: terms{Seconds: 600}},
		"Delete %s and its pods", p.old,
	)
	p.plan.undo = append(p.plan.undo, Op{Verb: remove, Object: p.new.object()})
	return nil
}

// unchanged compares the uid and the generation, which changes with the spec.
func (p *planner) unchanged() Op {
	fields := "uid {.metadata.uid}, generation {.metadata.generation}"
	want := fmt.Sprintf("uid %s, generation %d", p.old.meta.UID, p.old.meta.Generation)
	if p.version != nil {
		fields += ", stable {.status.stableRS}, current {.status.currentPodHash}"
		want += fmt.Sprintf(", stable %s, current %s", p.version.stable, p.version.current)
	}
	return Op{Verb: check, Object: p.old.object(), terms: terms{
		Fields: fields,
		Want:   want,
		Unless: p.new.object(),
		Else:   "Find out who changed it, and make a new plan.",
	}}
}

// planned passes for an object that an earlier run has created.
func (p *planner) planned() (Op, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p.new.selector)
	if err != nil {
		return Op{}, err
	}
	selector, err := json.Marshal(tree) // kubectl prints the keys of an object in their order
	if err != nil {
		return Op{}, err
	}
	spec := &p.new.template.Spec
	return Op{Verb: check, Object: p.new.object(), terms: terms{
		Unless: p.old.object(),
		Fields: "selector {.spec.selector}, images {.spec.template.spec.containers[*].image}" +
			" {.spec.template.spec.initContainers[*].image}",
		Want: fmt.Sprintf("selector %s, "+
			"images %s %s", selector, images(spec.Containers), images(spec.InitContainers)),
		Else: "Only if " + p.old.object() + " has all its pods and an earlier plan left it: " +
			"delete it, and run this again.",
	}}, nil
}

func images(list []corev1.Container) string {
	var all []string
	for i := range list {
		all = append(all, list[i].Image)
	}
	return strings.Join(all, " ")
}

// create applies as the tool that applies the live workload. If the plan had
// another manager, that would keep each field which the tool removes later.
func (p *planner) create(manifest runtime.Object) (Op, error) {
	body, err := withoutStatus(manifest)
	op := Op{Verb: apply, Object: p.new.object(), Body: body}
	op.Manager = p.manager()
	return op, err
}

func withoutStatus(manifest runtime.Object) (string, error) {
	data, err := json.Marshal(manifest)
	if err != nil {
		return "", err
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return "", err
	}
	delete(tree, "status")
	body, err := yaml.Marshal(tree)
	return string(body), err
}

// release: the apply owns the replicas with all other fields. Without this
// step, the next apply of a manifest without replicas would leave one pod.
func (p *planner) release(manager string) (Op, error) {
	const entry = "/metadata/managedFields/0"
	body, err := jsonPatch(
		operation{Op: "test", Path: entry + "/manager", Value: manager},
		operation{Op: "remove", Path: entry + "/fieldsV1/f:spec/f:replicas"},
	)
	return Op{Verb: patch, Object: p.new.object(), Body: body, terms: terms{
		Fields: "{.metadata.managedFields[0].manager} " +
			"{.metadata.managedFields[0].fieldsV1.f:spec.f:replicas}",
		Want: manager + " {}",
	}}, err
}

// ready is Healthy as live.PhaseOf says: after an early error of the
// controller, the phase alone is of the version before.
func (p *planner) ready() Op {
	op := Op{Verb: wait, Object: p.new.object(), terms: terms{Pods: p.new.replicas}}
	op.Seconds = max(600, int64(op.Pods)*(30+int64(p.new.minReady)))
	if p.new.gvk.Kind == rolloutKind {
		op.Fields = `{.status.phase} {.status.conditions[?(@.type=="Healthy")].status}` +
			` {.status.conditions[?(@.type=="Progressing")].reason}`
		op.Want = "Healthy True NewReplicaSetAvailable"
	}
	return op
}
