// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What this package carries for its user as JSON objects is checked by upstream's rules. The structs here have no more of
// them than the rules need.

// read fills a struct from a carried object. A wrong type is a problem.
func (p *problems) read(m map[string]any, into any, path *field.Path) {
	m, err := normal(m)
	if err == nil {
		if wide(m) {
			p.errs = append(p.errs, narrow(m, reflect.TypeOf(into), path)...)
		}
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(m, into)
	}
	if err != nil {
		p.add(field.TypeInvalid(path, field.OmitValueType{}, err.Error()))
	}
}

type affinity struct {
	Preferred *struct {
		Weight int32 `json:"weight"`
	} `json:"preferredDuringSchedulingIgnoredDuringExecution"`
	Required *struct{} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
}

func (p *problems) antiAffinity(m map[string]any, path *field.Path) {
	if m == nil {
		return
	}
	var a affinity
	if p.read(m, &a, path); (a.Preferred == nil) == (a.Required == nil) {
		p.add(field.Forbidden(path, "exactly one of preferredDuringSchedulingIgnoredDuringExecution, requiredDuringSchedulingIgnoredDuringExecution"))
	}
	if a.Preferred != nil && (a.Preferred.Weight < 1 || a.Preferred.Weight > 100) {
		p.add(field.Invalid(path.Child("preferredDuringSchedulingIgnoredDuringExecution", "weight"), a.Preferred.Weight, "must be from 1 to 100"))
	}
}

// threshold: the controller goes on to the next step when so many pods of the new version are available, and waits for
// ever for more than there will be.
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
	p.read(c.ReplicaProgressThreshold, &t, path)
	most := int32(100)
	switch t.Type {
	case "Percent":
	case "Pods":
		most = r.replicas()
		for i := range c.Steps {
			if w := c.Steps[i].SetWeight; w != nil {
				canary, _ := r.Counts(*w)
				most = min(most, max(canary, 1))
			}
		}
	default:
		p.add(field.NotSupported(path.Child("type"), t.Type, []string{"Percent", "Pods"}))
	}
	if t.Value < 1 || t.Value > most {
		p.add(field.Invalid(path.Child("value"), t.Value, fmt.Sprintf("must be from 1 to %d, or a step would never be done", most)))
	}
}

// blueGreen checks the other strategy, which this package carries but does not make.
func (p *problems) blueGreen(s *Spec) {
	var b struct {
		Active        string         `json:"activeService"`
		Preview       string         `json:"previewService"`
		RevisionLimit *int32         `json:"scaleDownDelayRevisionLimit"`
		AntiAffinity  map[string]any `json:"antiAffinity"`
	}
	path := at("strategy", "blueGreen")
	if p.read(s.Strategy.BlueGreen, &b, path); b.Active == "" {
		p.add(field.Required(path.Child("activeService"), "the Service that users reach"))
	}
	if b.Active != "" && b.Active == b.Preview {
		p.add(field.Invalid(path.Child("previewService"), b.Preview, "must be another Service than activeService"))
	}
	history := int32(10)
	if s.RevisionHistoryLimit != nil {
		history = *s.RevisionHistoryLimit
	}
	if b.RevisionLimit != nil && *b.RevisionLimit > history {
		p.add(field.Invalid(path.Child("scaleDownDelayRevisionLimit"), *b.RevisionLimit,
			fmt.Sprintf("must not be more than revisionHistoryLimit, which is %d", history)))
	}
	p.antiAffinity(b.AntiAffinity, path.Child("antiAffinity"))
}
