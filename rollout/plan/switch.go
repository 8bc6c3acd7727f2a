// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
)

const (
	deploymentKind = "Deployment"
	rolloutKind    = "Rollout"
)

// planAnnotation has the checksum of the manifest that a plan created, without
// its replicas, and of the pod template that was live then.
const planAnnotation = "rollout.controllerkit.dev/plan"

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

func ofDeployment(d *appsv1.Deployment) *workload {
	return &workload{
		gvk:      appsv1.SchemeGroupVersion.WithKind(deploymentKind),
		meta:     &d.ObjectMeta,
		replicas: ptr.Deref(d.Spec.Replicas, 1),
		minReady: d.Spec.MinReadySeconds,
		selector: d.Spec.Selector,
		template: &d.Spec.Template,
	}
}

func ofRollout(r *rollout.Rollout) *workload {
	return &workload{
		gvk:      rollout.GVK(),
		meta:     &r.ObjectMeta,
		replicas: ptr.Deref(r.Spec.Replicas, 1),
		minReady: r.Spec.MinReadySeconds,
		selector: r.Spec.Selector,
		template: r.Spec.Template,
	}
}

// planner collects a plan, and its errors.
type planner struct {
	Options
	old, new *workload
	fields   string // a jsonpath of which versions an old Rollout runs
	versions string // what the cluster prints for fields
	sum      string // of the live pod template
	plan     Plan
	errs     field.ErrorList
}

func (p *planner) add(path *field.Path, detail string) {
	p.errs = append(p.errs, field.Forbidden(path, detail))
}

func (p *planner) warn(format string, args ...any) {
	p.plan.Warnings = append(p.plan.Warnings, fmt.Sprintf(format, args...))
}

func (p *planner) do(op Op, format string, args ...any) {
	p.plan.Steps = append(p.plan.Steps, Step{Do: fmt.Sprintf(format, args...), Op: op})
}

// read fills into from a live object of a kind. It reports the errors of an
// object that no plan can be made from.
func read(live *unstructured.Unstructured, kind schema.GroupVersionKind, into any) field.ErrorList {
	path := field.NewPath("live")
	if live == nil {
		return field.ErrorList{field.Required(path, "a plan needs the live "+kind.Kind)}
	}
	if live.GroupVersionKind() != kind {
		is := live.GroupVersionKind().String()
		return field.ErrorList{field.NotSupported(path.Child("kind"), is, []string{kind.String()})}
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, into)
	if err != nil {
		return field.ErrorList{field.TypeInvalid(path, field.OmitValueType{}, err.Error())}
	}
	if live.GetUID() == "" {
		return field.ErrorList{field.Required(path.Child("metadata", "uid"),
			"a plan needs the live object, as kubectl get -o yaml prints it")}
	}
	return nil
}

// finish returns the plan that replaces old by new, unless something is wrong.
func (p *planner) finish(
	live *unstructured.Unstructured, manifest runtime.Object, others []unstructured.Unstructured,
) (Plan, field.ErrorList) {
	p.sameWorkload()
	scalers := p.scalers(others)
	if len(p.errs) > 0 {
		return Plan{}, p.errs
	}
	err := p.steps(live, manifest, scalers)
	if err != nil {
		return Plan{}, field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	p.plan.kubectl = kubectl(p.Context, p.old.meta.Namespace)
	p.header()
	return p.plan, nil
}

func (p *planner) header() {
	p.plan.Warnings = append([]string{"Suspend what applies this workload while the plan runs, such as " +
		"Argo CD, Flux, Helm, a pipeline or an operator: it would put back what the plan removes."},
		p.plan.Warnings...)
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
func (p *planner) steps(live *unstructured.Unstructured, manifest runtime.Object, s scalers) error {
	template, _, err := unstructured.NestedFieldNoCopy(live.Object, "spec", "template")
	if err != nil {
		return err
	}
	printed, err := json.Marshal(template) // as kubectl prints it
	if err != nil {
		return err
	}
	p.sum = cksum(printed)
	body, hash, err := withPlanHash(manifest, p.sum)
	if err != nil {
		return err
	}
	manager := p.manager()
	release, err := p.release(manager)
	if err != nil {
		return err
	}
	p.do(p.unchanged(), "Check that %s has not changed, or was replaced by an earlier run", p.old)
	p.do(Op{Verb: check, Object: p.new.object(), terms: terms{
		Other:  p.old.object(),
		Fields: `plan {.metadata.annotations.rollout\.controllerkit\.dev/plan}`,
		Want:   "plan " + hash,
		Else: "Another plan or a person has made it. Only if " + p.old.object() +
			" has all its pods: delete it, and run this again.",
	}}, "Check that %s does not exist, or is of this plan", p.new)
	p.do(s.known(), "Check that this plan knows each HorizontalPodAutoscaler of it")
	p.do(Op{Verb: apply, Object: p.new.object(), Body: body, terms: terms{
		Manager: manager,
	}}, "Create %s with as many replicas as %s had", p.new, p.old)
	p.do(release, "Leave the replicas to the next writer: a manifest, an autoscaler or a person")
	ready := p.ready()
	ready.Grow = true
	p.do(ready, "Wait until %s has its pods, and scale it up if %s is", p.new, p.old)
	if len(s.found) > 0 {
		err := p.handOver(s)
		if err != nil {
			return err
		}
		p.do(p.ready(), "Wait again: the autoscaler scales %s now", p.new)
	}
	p.do(p.unchanged(), "Check again, because the next step takes pods away")
	p.do(
		Op{Verb: remove, Object: p.old.object(), terms: terms{Seconds: 600}},
		"Delete %s and its pods", p.old,
	)
	p.plan.undo = append(p.plan.undo, Op{Verb: remove, Object: p.new.object()})
	return nil
}

// unchanged compares the uid, the pod template, and of a Rollout which versions
// run. An autoscaler may change the replicas.
func (p *planner) unchanged() Op {
	return Op{Verb: check, Object: p.old.object(), terms: terms{
		Fields:   "uid {.metadata.uid}" + p.fields,
		Want:     "uid " + string(p.old.meta.UID) + p.versions,
		Template: p.sum,
		Other:    p.new.object(),
		Else:     "Find out who changed it, and make a new plan.",
	}}
}

// withPlanHash is the manifest to apply, in YAML, with the annotation that a plan
// knows it by: a checksum of the manifest and of the live pod template.
func withPlanHash(manifest runtime.Object, template string) (body, hash string, err error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(manifest)
	if err != nil {
		return "", "", err
	}
	u := unstructured.Unstructured{Object: tree}
	unstructured.RemoveNestedField(tree, "status")
	replicas, _, err := unstructured.NestedFieldNoCopy(tree, "spec", "replicas")
	if err != nil {
		return "", "", err
	}
	unstructured.RemoveNestedField(tree, "spec", "replicas")
	data, err := json.Marshal(tree)
	if err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(append(data, template...))
	hash = hex.EncodeToString(sum[:8])
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[planAnnotation] = hash
	u.SetAnnotations(annotations)
	err = unstructured.SetNestedField(tree, replicas, "spec", "replicas")
	if err != nil {
		return "", "", err
	}
	text, err := yaml.Marshal(tree)
	return string(text), hash, err
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

// ready waits for the pods of the new workload. The phase of a Rollout changes
// with each act of an autoscaler. Once it has completed its first revision, all
// its pods are of that.
func (p *planner) ready() Op {
	seconds := max(600, int64(p.old.replicas)*(30+int64(p.new.minReady)))
	op := Op{Verb: wait, Object: p.new.object(), terms: terms{Other: p.old.object(), Seconds: seconds}}
	if p.new.gvk.Kind == rolloutKind {
		op.Fields = `{.status.conditions[?(@.type=="Completed")].status}`
		op.Want = "True"
	}
	return op
}

// cksum is what the command cksum of POSIX prints for data: a CRC of 32 bits
// over the data and its length, and the length.
func cksum(data []byte) string {
	crc := uint32(0)
	add := func(b byte) {
		crc ^= uint32(b) << 24
		for range 8 {
			carry := crc>>31 == 1
			crc <<= 1
			if carry {
				crc ^= 0x04C11DB7
			}
		}
	}
	for _, b := range data {
		add(b)
	}
	for n := len(data); n > 0; n >>= 8 {
		add(byte(n))
	}
	return fmt.Sprintf("%d %d", ^crc, len(data))
}
