// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules for what this package carries as JSON objects, as far as they hold
// for a canary without trafficRouting. The structs have the fields that the
// rules need.

// read fills a struct from a carried object. A wrong type is a problem.
func (p *problems) read(m map[string]any, into any, path *field.Path) {
	var tree map[string]any
	data, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(data, &tree)
	}
	if err == nil {
		if wrong := mistyped(path, tree, reflect.TypeOf(into)); len(wrong) > 0 {
			p.errs = append(p.errs, wrong...)
		}
		if data, err = json.Marshal(tree); err == nil {
			err = json.Unmarshal(data, into)
		}
	}
	if err != nil {
		p.add(field.TypeInvalid(path, field.OmitValueType{}, err.Error()))
	}
}

// maxWeight is what the weights add up to.
func (c *Canary) maxWeight() int32 {
	var routing struct {
		MaxTrafficWeight *int32 `json:"maxTrafficWeight"`
	}
	if c.TrafficRouting != nil {
		new(problems).read(c.TrafficRouting, &routing, nil)
	}
	if routing.MaxTrafficWeight == nil {
		return 100
	}
	return *routing.MaxTrafficWeight
}

// onlyRouted refuses what has no effect without trafficRouting.
func (p *problems) onlyRouted(c *Canary) {
	if c.TrafficRouting != nil {
		return
	}
	for _, only := range [...]struct {
		name string
		set  bool
	}{
		{"scaleDownDelaySeconds", c.ScaleDownDelaySeconds != nil},
		{"scaleDownDelayRevisionLimit", c.ScaleDownDelayRevisionLimit != nil},
		{"abortScaleDownDelaySeconds", c.AbortScaleDownDelaySeconds != nil},
		{"dynamicStableScale", c.DynamicStableScale},
		{"pingPong", c.PingPong != nil},
		{"minPodsPerReplicaSet", c.MinPodsPerReplicaSet != nil},
	} {
		if only.set {
			p.add(field.Forbidden(inCanary(only.name), "has an effect with trafficRouting only"))
		}
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		for _, only := range [...]struct {
			name string
			set  bool
		}{{"setCanaryScale", s.SetCanaryScale != nil}, {"setHeaderRoute", s.SetHeaderRoute != nil}, {"setMirrorRoute", s.SetMirrorRoute != nil}} {
			if only.set {
				p.add(field.Forbidden(step(i).Child(only.name), "needs trafficRouting; without it setWeight sets the scale"))
			}
		}
	}
}

// carriedStep refuses an action for which the controller would wait forever.
func (p *problems) carriedStep(c *Canary, s *Step, i int) {
	if s.Analysis != nil {
		p.analysis(s.Analysis, step(i).Child("analysis"))
	}
	if s.Experiment != nil {
		p.experiment(c, s.Experiment, step(i).Child("experiment"))
	}
	if name, _ := s.Plugin["name"].(string); s.Plugin != nil && name == "" {
		p.add(field.Required(step(i).Child("plugin", "name"), "the name of a plugin in the controller's configuration"))
	}
}

func (p *problems) analysis(m map[string]any, path *field.Path) {
	var a struct {
		Templates []struct {
			Name string `json:"templateName"`
		} `json:"templates"`
		Args []struct {
			From *corev1.EnvVarSource `json:"valueFrom"`
		} `json:"args"`
	}
	known := len(p.errs)
	if p.read(m, &a, path); len(p.errs) > known {
		return
	}
	if len(a.Templates) == 0 {
		p.add(field.Required(path.Child("templates"), "list at least one template"))
	}
	for i, t := range a.Templates {
		if t.Name == "" {
			p.add(field.Required(path.Child("templates").Index(i).Child("templateName"), "an analysis template of the namespace"))
		}
	}
	for i, arg := range a.Args {
		if arg.From == nil || arg.From.FieldRef == nil || !strings.HasPrefix(arg.From.FieldRef.FieldPath, "metadata") {
			continue
		}
		f := arg.From.FieldRef.FieldPath
		key := regexp.MustCompile(`^metadata\.(?:name|namespace|uid|labels|annotations|(?:labels|annotations)\['(.+)'\])$`).FindStringSubmatch(f)
		if key == nil || key[1] != "" && (annotationName(key[1]) != nil || strings.Contains(f, ".labels[") && qualifiedName(key[1]) != nil) {
			p.add(field.Invalid(path.Child("args").Index(i).Child("valueFrom", "fieldRef", "fieldPath"), f,
				"must be metadata.name, .namespace, .uid, .labels, .annotations, .labels['key'] or .annotations['key']"))
		}
	}
}

func (p *problems) experiment(c *Canary, m map[string]any, path *field.Path) {
	var e struct {
		Templates []struct {
			Weight *int32 `json:"weight"`
		} `json:"templates"`
	}
	known := len(p.errs)
	if p.read(m, &e, path); len(p.errs) > known {
		return
	}
	if len(e.Templates) == 0 {
		p.add(field.Required(path.Child("templates"), "an experiment runs at least one"))
	}
	for i, t := range e.Templates {
		if t.Weight != nil && c.TrafficRouting == nil {
			p.add(field.Forbidden(path.Child("templates").Index(i).Child("weight"), "needs trafficRouting"))
		}
	}
}

func (p *problems) antiAffinity(m map[string]any, path *field.Path) {
	if m == nil {
		return
	}
	var a struct {
		Preferred *struct {
			Weight int32 `json:"weight"`
		} `json:"preferredDuringSchedulingIgnoredDuringExecution"`
		Required *struct{} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
	}
	known := len(p.errs)
	if p.read(m, &a, path); len(p.errs) > known {
		return
	}
	if (a.Preferred == nil) == (a.Required == nil) {
		p.add(field.Forbidden(path, "exactly one of preferredDuringSchedulingIgnoredDuringExecution, requiredDuringSchedulingIgnoredDuringExecution"))
	}
	if a.Preferred != nil && (a.Preferred.Weight < 1 || a.Preferred.Weight > 100) {
		p.add(field.Invalid(path.Child("preferredDuringSchedulingIgnoredDuringExecution", "weight"), a.Preferred.Weight, "must be from 1 to 100"))
	}
}

// threshold: the controller goes on to the next step when so many pods of the
// new version are available. It waits forever for more than there will be.
func (p *problems) threshold(r *Rollout) {
	c := r.Spec.Strategy.Canary
	if c.ReplicaProgressThreshold == nil {
		return
	}
	var t struct {
		Type  string `json:"type"`
		Value int32  `json:"value"`
	}
	path := inCanary("replicaProgressThreshold")
	known := len(p.errs)
	if p.read(c.ReplicaProgressThreshold, &t, path); len(p.errs) > known {
		return
	}
	most := int32(100)
	switch t.Type {
	case "Percent":
	case "Pods":
		if most = math.MaxInt32; r.Spec.Replicas == nil || *r.Spec.Replicas == 0 || c.TrafficRouting != nil {
			break // an autoscaler or a person may set them, and with a router the canary has any size
		}
		for i := range c.Steps { // only a setWeight waits for so many
			if w := c.Steps[i].SetWeight; w != nil {
				canary, _ := r.Counts(*w)
				most = min(most, max(canary, 0))
			}
		}
		if most == 0 {
			p.add(field.Invalid(path.Child("type"), t.Type, "a setWeight step runs no pod of the new version, so a threshold in Pods is never reached; use Percent"))
			return
		}
	default:
		p.add(field.NotSupported(path.Child("type"), t.Type, []string{"Percent", "Pods"}))
	}
	if t.Value < 1 && most == math.MaxInt32 {
		p.add(field.Invalid(path.Child("value"), t.Value, "must be at least 1"))
		return
	}
	if t.Value < 1 || t.Value > most {
		p.add(field.Invalid(path.Child("value"), t.Value, fmt.Sprintf("must be from 1 to %d, or a step would never be done", most)))
	}
}
