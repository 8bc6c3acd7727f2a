// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// owner is a tool that writes objects and marks them.
type owner struct {
	name     string
	prefix   []string // of a label or an annotation
	managers []string // its field managers; a prefix if it ends with a hyphen
	advice   string
}

func owners() []owner {
	const (
		suspend = ": suspend it for this workload while the plan runs, or it puts back what " +
			"the plan removes."
		sync = ": suspend its automatic sync while the plan runs, or it puts back what the " +
			"plan removes. " +
			"To let it do the switch instead, set argocd.argoproj.io/sync-options: " +
			"PruneLast=true " +
			"on the live object one sync before."
		upgrade = ": an upgrade that changes the kind deletes the old workload immediately, " +
			"and --wait does not know " +
			"Rollouts. Set helm.sh/resource-policy: keep on it one release before. What the " +
			"plan creates has Helm's " +
			"marks of the live object: without them Helm would refuse to take it over."
	)
	return []owner{
		{"Argo CD", []string{"argocd.argoproj.io/"}, []string{"argocd-"}, sync},
		{
			"Flux",
			[]string{"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"},
			[]string{"kustomize-controller", "helm-controller"},
			suspend,
		},
		{
			"Fleet",
			[]string{"fleet.cattle.io/", "objectset.rio.cattle.io/"},
			[]string{"fleetagent"},
			suspend,
		},
		{
			"Config Sync",
			[]string{"configsync.gke.io/", "configmanagement.gke.io/"},
			[]string{"configsync"},
			suspend,
		},
		{"kapp", []string{"kapp.k14s.io/"}, []string{"kapp", "kapp-"}, suspend},
		{"Terraform", nil, []string{"Terraform", "HashiCorp"}, suspend},
		{"Pulumi", []string{"pulumi.com/"}, []string{"pulumi-"}, suspend},
		{"KEDA", []string{"scaledobject.keda.sh/"}, nil, suspend},
		{"Operator Lifecycle Manager", []string{"olm.owner", "olm.managed"}, nil, suspend},
		{"Helm", []string{"meta.helm.sh/"}, []string{"helm"}, upgrade},
	}
}

// marks reports whether the metadata shows that the tool writes the object.
func (o *owner) marks(m metav1.Object) bool {
	if o.name == "Helm" && m.GetLabels()[managedBy] == "Helm" {
		return true
	}
	if anyKey(m.GetLabels(), o.prefix) || anyKey(m.GetAnnotations(), o.prefix) {
		return true
	}
	return slices.ContainsFunc(m.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return slices.ContainsFunc(o.managers, func(name string) bool {
			if strings.HasSuffix(name, "-") {
				return strings.HasPrefix(f.Manager, name)
			}
			return f.Manager == name
		})
	})
}

// warnOwners has one warning for each other writer of the workload that its
// metadata shows.
func (p *planner) warnOwners() {
	for _, o := range owners() {
		if o.marks(p.old.meta) {
			p.warn("%s applies this workload%s", o.name, o.advice)
		}
	}
	for _, r := range p.old.meta.OwnerReferences {
		p.warn("The workload belongs to %[1]s %[2]s: its controller may create again what the "+
			"plan removes. "+
			"Change %[1]s %[2]s instead, or stop its controller while "+
			"the plan runs.", r.Kind, r.Name)
	}
}

// warnScalerOwners: what creates an autoscaler writes its target too. It copies
// its own labels, so the labels of an autoscaler with an owner are not read.
func (p *planner) warnScalerOwners(hpa *unstructured.Unstructured) {
	if hpa == nil {
		return
	}
	for _, r := range hpa.GetOwnerReferences() {
		p.warn("The HorizontalPodAutoscaler %[3]s belongs to %[1]s %[2]s, which puts back its "+
			"scaleTargetRef, and then "+
			"the plan stops: change the target in %[1]s %[2]s, and run the "+
			"plan again.", r.Kind, r.Name, hpa.GetName())
	}
	if len(hpa.GetOwnerReferences()) > 0 {
		return
	}
	for _, o := range owners() {
		if o.marks(hpa) {
			p.warn("%s applies the HorizontalPodAutoscaler %s: suspend it while the plan runs, "+
				"or it puts back the scaleTargetRef, and the plan stops.", o.name, hpa.GetName())
		}
	}
}

// manager returns the field manager of the apply: the manager that applies the
// live workload, because it owns the fields afterwards.
func (p *planner) manager() string {
	if p.FieldManager != "" {
		return p.FieldManager
	}
	name := applier(p.old.meta.ManagedFields)
	switch {
	case name == "" && p.old.meta.UID != "":
		p.warn("The live %s has no managedFields, so the plan applies as kubectl. If another "+
			"tool applies the manifest, "+
			"read it with --show-managed-fields, or set the field manager: a field that the "+
			"tool removes later would stay.",
			p.old.gvk.Kind)
		return "kubectl"
	case name == "", strings.HasPrefix(name, "kubectl"): // a client-side apply has another name
		return "kubectl"
	}
	return name
}

// applier returns the manager of the selector, which every manifest has and a
// patch cannot change. An apply goes before an update, and a later entry before
// an earlier one.
func applier(entries []metav1.ManagedFieldsEntry) string {
	const apply = metav1.ManagedFieldsOperationApply
	var best metav1.ManagedFieldsEntry
	for _, e := range entries {
		if e.Subresource != "" || !ownsSelector(&e) {
			continue
		}
		later := e.Operation == best.Operation && best.Time.Before(e.Time)
		applies := e.Operation == apply && best.Operation != apply
		if best.Manager == "" || later || applies {
			best = e
		}
	}
	return best.Manager
}

func ownsSelector(e *metav1.ManagedFieldsEntry) bool {
	var fields struct {
		Spec map[string]any `json:"f:spec"`
	}
	data, err := json.Marshal(e.FieldsV1)
	if err != nil || json.Unmarshal(data, &fields) != nil {
		return false
	}
	return fields.Spec["f:selector"] != nil
}

// carryMarks gives an object that the plan creates the marks of the live one by
// which its owners know it, unless its manifest has others. Helm refuses to
// upgrade an object without its three, and controllers do so without their
// owner reference. Flux finds its objects by an inventory, and people by its
// labels.
//
// What other tools mark stays behind. Argo CD, kapp, Fleet and Config Sync take
// an unmarked object over when it is in their source. They delete a marked one
// that is not there yet, and with it the only pods.
func carryMarks(live, to *metav1.ObjectMeta) {
	to.Annotations = carry(live.Annotations, to.Annotations,
		"meta.helm.sh/release-name", "meta.helm.sh/release-namespace")
	to.Labels = carry(live.Labels, to.Labels,
		"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace",
		"helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace")
	if live.Labels[managedBy] == "Helm" {
		to.Labels = carry(live.Labels, to.Labels, managedBy)
	}
	if len(to.OwnerReferences) > 0 {
		return
	}
	to.OwnerReferences = live.DeepCopy().OwnerReferences
	for i := range to.OwnerReferences {
		to.OwnerReferences[i].BlockOwnerDeletion = nil // some clusters ask for a right on the owner
	}
}

// carry returns to with the keys of live that it does not have.
func carry(live, to map[string]string, keys ...string) map[string]string {
	for _, key := range keys {
		value, marked := live[key]
		_, has := to[key]
		if !marked || has {
			continue
		}
		if to == nil {
			to = map[string]string{}
		}
		to[key] = value
	}
	return to
}

const managedBy = "app.kubernetes.io/managed-by"

func anyKey(m map[string]string, prefixes []string) bool {
	for key := range m {
		for _, prefix := range prefixes {
			if strings.HasPrefix(key, prefix) {
				return true
			}
		}
	}
	return false
}
