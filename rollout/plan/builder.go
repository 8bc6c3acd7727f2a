// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// builder collects the actions of a plan, and what is against it.
type builder struct {
	namespace string
	plan      Plan
	errs      field.ErrorList
}

func (b *builder) add(errs ...*field.Error) { b.errs = append(b.errs, errs...) }

func (b *builder) warn(text string) { b.plan.Warnings = append(b.plan.Warnings, text) }

func (b *builder) do(what, command, until string) {
	b.plan.Actions = append(b.plan.Actions, Action{Do: what, Command: command, Until: until})
}

func (b *builder) kubectl(args string) string {
	if b.namespace == "" {
		return "kubectl " + args
	}
	return "kubectl -n " + b.namespace + " " + args
}

// names keeps what is no name out of shell commands.
func (b *builder) names(names ...string) {
	for _, name := range names {
		for _, msg := range validation.IsDNS1123Subdomain(name) {
			b.add(field.Invalid(field.NewPath("metadata", "name"), name, msg))
		}
	}
	if b.namespace != "" {
		for _, msg := range validation.IsDNS1123Label(b.namespace) {
			b.add(field.Invalid(field.NewPath("metadata", "namespace"), b.namespace, msg))
		}
	}
}

func (b *builder) method(m Method) Method {
	switch m {
	case "":
		return SideBySide
	case SideBySide, Adopt, Reference:
	default:
		b.add(field.NotSupported(field.NewPath("method"), m, []Method{SideBySide, Adopt, Reference}))
	}
	return m
}

// write puts an object into a file beside the runbook. Lines of JSON cannot end the here-document.
func (b *builder) write(what, file string, obj runtime.Object) {
	body, err := manifest(obj)
	if err != nil {
		b.add(field.InternalError(field.NewPath("spec"), err))
		return
	}
	b.do("Write "+what+" that is applied below", "cat >"+file+" <<'EOF'\n"+body+"\nEOF", "")
}

// manifest is an object as it is applied, without a status.
func manifest(obj runtime.Object) (string, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return "", err
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return "", err
	}
	delete(m, "status")
	data, err = json.MarshalIndent(m, "", "  ")
	return string(data), err
}

// untilHealthy: a Rollout without a controller never is, and the wait says so by its timeout. One that was there before may have been
// healthy as it was then, so the second line asks for the generation too.
func (b *builder) untilHealthy(name string, n int32) string {
	return b.kubectl("wait --for=jsonpath='{.status.phase}'=Healthy rollout/"+name+" --timeout="+patience(n)) + "\n" + b.untilObserved(name, "Healthy")
}

// untilObserved: the controller has seen the Rollout as it is now, and, if a phase is given, calls it that.
func (b *builder) untilObserved(name, phase string) string {
	seen, want := "{.metadata.generation}={.status.observedGeneration}", `\([0-9]*\)=\1`
	if phase != "" {
		seen, want = seen+"={.status.phase}", want+"="+phase
	}
	return "until " + b.kubectl("get rollout "+name+" -o jsonpath='"+seen+"' | grep -q '^"+want+"$'") + "; do sleep 1; done"
}

// patience is for pods that are replaced one after the other.
func patience(n int32) string { return fmt.Sprintf("%ds", max(600, 30*int64(n))) }

// scaler is the one HorizontalPodAutoscaler of the workload, or nil.
func (b *builder) scaler(hpas []autoscalingv2.HorizontalPodAutoscaler, kind, name, otherKind, otherName string) *autoscalingv2.HorizontalPodAutoscaler {
	var found []*autoscalingv2.HorizontalPodAutoscaler
	for i := range hpas {
		h, ref := &hpas[i], hpas[i].Spec.ScaleTargetRef
		ours := ref.Kind == kind && ref.Name == name || ref.Kind == otherKind && ref.Name == otherName
		if ours && (h.Namespace == b.namespace || h.Namespace == "") {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		b.names(found[0].Name)
		return found[0]
	}
	var names []string
	for _, h := range found {
		names = append(names, h.Name)
	}
	slices.Sort(names)
	b.add(field.Forbidden(field.NewPath("hpas"), "HorizontalPodAutoscalers "+strings.Join(names, " and ")+
		" scale the same pods, so both would stop (AmbiguousSelector); keep one"))
	return nil
}

// handOver comes when the new workload is there and before the old one goes: without its target an autoscaler does nothing.
func (b *builder) handOver(h *autoscalingv2.HorizontalPodAutoscaler, to schema.GroupVersionKind, name string) {
	if h == nil {
		return
	}
	patch := fmt.Sprintf(`{"spec":{"scaleTargetRef":{"apiVersion":%q,"kind":%q,"name":%q}}}`, to.GroupVersion(), to.Kind, name)
	b.do("Hand the HorizontalPodAutoscaler over; never add a second one", b.kubectl("patch hpa "+h.Name+" --type=merge -p "+quote(patch)), "")
	b.warn("Change scaleTargetRef of the HorizontalPodAutoscaler " + h.Name + " to " + to.Kind + " where its manifest is kept too, or the next apply puts it back.")
}

// holdReplicas gives spec.replicas an owner of its own where the manifest that is applied from now on has none: the apply would
// remove the field, and either kind takes 1 for it. An autoscaler becomes its owner only with its first change.
func (b *builder) holdReplicas(h *autoscalingv2.HorizontalPodAutoscaler, kept *int32, of schema.GroupVersionKind, name string, n int32) {
	if kept != nil && h == nil {
		if *kept != n {
			b.warn(fmt.Sprintf("The manifest has %d replicas and %d run: the next apply of it changes their number.", *kept, n))
		}
		return
	}
	body := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"spec":{"replicas":%d}}`, of.GroupVersion(), of.Kind, name, n)
	b.do("Let a field manager of its own hold the replicas, so that applying a manifest without them does not leave one pod",
		b.kubectl("apply --server-side --field-manager=replicas -f - <<'EOF'\n"+body+"\nEOF"), "")
}

func deploymentKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
}

// replicas of neither kind that are not set are 1.
func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
