// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/rollout"
)

// sameWorkload refuses a new workload that would not select the old pods.
func (p *planner) sameWorkload() {
	if p.old.meta.DeletionTimestamp != nil {
		p.add(field.NewPath("live", "metadata", "deletionTimestamp"),
			"the "+p.old.gvk.Kind+" is being deleted")
	}
	if p.new.meta.Name != p.old.meta.Name {
		p.add(field.NewPath("metadata", "name"), "must be the "+p.old.gvk.Kind+"'s, "+p.old.meta.Name)
	}
	if p.new.meta.Namespace != p.old.meta.Namespace {
		p.add(field.NewPath("metadata", "namespace"),
			"must be the "+p.old.gvk.Kind+"'s, "+p.old.meta.Namespace)
	}
	if !equality.Semantic.DeepEqual(p.old.selector, p.new.selector) {
		p.add(field.NewPath("spec", "selector"),
			"must be the "+p.old.gvk.Kind+"'s, "+metav1.FormatLabelSelector(p.old.selector))
	}
}

// sameTemplate refuses another pod template: an image, a variable, an argument,
// an account or an annotation that only one of the two has is a release that
// the switch would bring or take back.
func (p *planner) sameTemplate(why string) {
	path := field.NewPath("spec", "template")
	if p.new.template == nil {
		p.add(path, "a plan is for a Rollout with a template; with a workloadRef the controller does "+
			"the switch, see scaleDown")
		return
	}
	live, err := tree(p.old.template)
	if err != nil {
		p.errs = append(p.errs, field.InternalError(path, err))
		return
	}
	applied, err := tree(p.new.template)
	if err != nil {
		p.errs = append(p.errs, field.InternalError(path, err))
		return
	}
	p.same(path, live, applied, why)
}

func tree(template any) (out map[string]any, err error) {
	data, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(data, &out)
	if err != nil {
		return nil, err
	}
	spec, ok := out["spec"].(map[string]any)
	if ok && spec["serviceAccountName"] == nil {
		spec["serviceAccountName"] = spec["serviceAccount"]
	}
	delete(spec, "serviceAccount") // the old name, which a server fills in
	return out, nil
}

// same reports where two values differ. The values themselves may be secret.
func (p *planner) same(path *field.Path, live, applied any, why string) {
	was, wasMap := live.(map[string]any)
	is, isMap := applied.(map[string]any)
	if wasMap && isMap {
		keys := maps.Clone(was)
		maps.Copy(keys, is)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			p.sameKey(path, key, was, is, why)
		}
		return
	}
	before, wasList := live.([]any)
	after, isList := applied.([]any)
	if wasList && isList && len(before) == len(after) {
		for i := range before {
			p.same(path.Index(i), before[i], after[i], why)
		}
		return
	}
	if !reflect.DeepEqual(live, applied) {
		p.add(path, fmt.Sprintf("the live %s has another value: %s", p.old.gvk.Kind, why))
	}
}

// sameKey compares a field. If only one of the two has it, that is a
// difference, unless its value is empty or the default that a server fills in.
func (p *planner) sameKey(path *field.Path, key string, was, is map[string]any, why string) {
	chosen := slices.ContainsFunc(
		[]string{"labels", "matchLabels", "annotations", "nodeSelector", "limits", "requests"},
		func(name string) bool { return strings.HasSuffix(path.String(), "."+name) })
	at := path.Child(key)
	if chosen {
		at = path.Key(key)
	}
	before, had := was[key]
	after, has := is[key]
	if had && has {
		p.same(at, before, after, why)
		return
	}
	value := before
	if has {
		value = after
	}
	restarted := key == "kubectl.kubernetes.io/restartedAt" // kubectl rollout restart releases nothing
	if restarted || empty(value) || !chosen && filledIn(path, key, value) {
		return
	}
	p.add(at, fmt.Sprintf("only one of the live %s and the manifest has it: %s", p.old.gvk.Kind, why))
}

func empty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return v == ""
	}
}

// filledIn reports whether a value is the default of apps/v1 for a field.
func filledIn(path *field.Path, key string, value any) bool {
	if strings.HasSuffix(path.String(), ".template.spec") {
		pod := map[string]any{
			"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
			"terminationGracePeriodSeconds": 30.0,
		}
		return pod[key] == value
	}
	defaults := map[string][]any{
		"terminationMessagePath":   {"/dev/termination-log"},
		"terminationMessagePolicy": {"File"},
		"imagePullPolicy":          {"IfNotPresent", "Always"},
		"protocol":                 {"TCP"},
		"scheme":                   {"HTTP"},
		"timeoutSeconds":           {1.0},
		"periodSeconds":            {10.0},
		"successThreshold":         {1.0},
		"failureThreshold":         {3.0},
		"defaultMode":              {420.0},
		"expirationSeconds":        {3600.0},
		"apiVersion":               {"v1"},
		"divisor":                  {"0"},
		"path":                     {"/"},
		"volumeMode":               {"Filesystem"},
	}
	return slices.Contains(defaults[key], value)
}

// services refuses a Rollout whose controller takes a Service over. Format has
// a verb for its name.
func (p *planner) services(r *rollout.Rollout, path *field.Path, format string) {
	refuse := func(service any, names ...string) {
		name, _ := service.(string)
		if name != "" {
			p.add(path.Child("spec", "strategy").Child(names[0], names[1:]...), fmt.Sprintf(format, name))
		}
	}
	blueGreen := r.Spec.Strategy.BlueGreen
	refuse(blueGreen["activeService"], "blueGreen", "activeService")
	refuse(blueGreen["previewService"], "blueGreen", "previewService")
	canary := r.Spec.Strategy.Canary
	if canary == nil {
		return
	}
	refuse(canary.CanaryService, "canary", "canaryService")
	refuse(canary.StableService, "canary", "stableService")
	refuse(canary.PingPong["pingService"], "canary", "pingPong", "pingService")
	refuse(canary.PingPong["pongService"], "canary", "pingPong", "pongService")
}
