// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func inCanary(names ...string) *field.Path {
	return field.NewPath("spec", "strategy", "canary").Child(names[0], names[1:]...)
}

func step(i int) *field.Path { return inCanary("steps").Index(i) }

func (p *problems) canary(r *Rollout) {
	c := r.Spec.Strategy.Canary
	sound := p.surgeBounds(c)
	p.onlyRouted(c)
	p.steps(r, sound)
	if c.CanaryService != "" && c.CanaryService == c.StableService {
		path := inCanary("stableService")
		p.add(field.Invalid(path, c.StableService, "must be another Service than canaryService"))
	}
	p.podMetadata(r, "canaryMetadata", c.CanaryMetadata)
	p.podMetadata(r, "stableMetadata", c.StableMetadata)
	p.threshold(c)
	p.analysis(c.Analysis, inCanary("analysis"))
}

// surgeBounds reports whether maxSurge and maxUnavailable are numbers that can
// be used. Upstream takes "1" for 1%, "abc" for 0 and negative numbers as they
// come.
func (p *problems) surgeBounds(c *Canary) bool {
	surge, ok := p.surgeBound(c.MaxSurge, inCanary("maxSurge"), math.MaxInt32)
	unavailable, also := p.surgeBound(c.MaxUnavailable, inCanary("maxUnavailable"), 100)
	sound := ok && also
	if sound && surge+unavailable == 0 {
		p.add(field.Invalid(inCanary("maxSurge"), c.MaxSurge.String(),
			"must not be 0 while maxUnavailable is, or no pod could be replaced; "+
				"1 costs one pod more for a while"))
	}
	return sound
}

func (p *problems) surgeBound(v *intstr.IntOrString, path *field.Path, mostPercent uint64) (int, bool) {
	if v == nil {
		return 25, true
	}
	digits, percent := strings.CutSuffix(v.String(), "%")
	n, err := strconv.ParseUint(digits, 10, 31)
	detail := "must be a whole number such as 1, or a percentage such as 25%; of maxUnavailable at most 100%"
	switch {
	case err != nil: // not a number of either kind
	case v.Type == intstr.Int:
		return int(n), true
	case !percent:
		detail = fmt.Sprintf("is the string %q; use intstr.FromInt32(%d), which is %d without quotes, "+
			`or a percentage such as "25%%"`, digits, n, n)
	case n <= mostPercent:
		return int(n), true
	}
	p.add(field.Invalid(path, v.String(), detail))
	return 0, false
}

// maxWeight is what the weights add up to.
func (c *Canary) maxWeight() int32 {
	var routing struct {
		MaxTrafficWeight *int32 `json:"maxTrafficWeight"`
	}
	_ = remarshal(c.TrafficRouting, &routing) // of another type it is not set
	return ptr.Deref(routing.MaxTrafficWeight, 100)
}

// onlyRouted refuses what has no effect without trafficRouting.
func (p *problems) onlyRouted(c *Canary) {
	if c.TrafficRouting != nil {
		return
	}
	refuse := func(set bool, path *field.Path, detail string) {
		if set {
			p.add(field.Forbidden(path, detail))
		}
	}
	const effect = "has an effect with trafficRouting only"
	refuse(c.ScaleDownDelaySeconds != nil, inCanary("scaleDownDelaySeconds"), effect)
	refuse(c.ScaleDownDelayRevisionLimit != nil, inCanary("scaleDownDelayRevisionLimit"), effect)
	refuse(c.AbortScaleDownDelaySeconds != nil, inCanary("abortScaleDownDelaySeconds"), effect)
	refuse(c.DynamicStableScale, inCanary("dynamicStableScale"), effect)
	refuse(c.PingPong != nil, inCanary("pingPong"), effect)
	refuse(c.MinPodsPerReplicaSet != nil, inCanary("minPodsPerReplicaSet"), effect)
	const scale = "needs trafficRouting; without it setWeight sets the scale"
	for i := range c.Steps {
		s := &c.Steps[i]
		refuse(s.SetCanaryScale != nil, step(i).Child("setCanaryScale"), scale)
		refuse(s.SetHeaderRoute != nil, step(i).Child("setHeaderRoute"), scale)
		refuse(s.SetMirrorRoute != nil, step(i).Child("setMirrorRoute"), scale)
	}
}

// threshold: the controller goes on to the next step when so many pods of the
// new version are available. It takes another type for Pods.
func (p *problems) threshold(c *Canary) {
	var t struct {
		Type  string `json:"type"`
		Value int32  `json:"value"`
	}
	path := inCanary("replicaProgressThreshold")
	if !p.read(c.ReplicaProgressThreshold, &t, path) {
		return
	}
	most := int32(math.MaxInt32)
	switch t.Type {
	case "Percent":
		most = 100
	case "Pods":
	default:
		p.add(field.NotSupported(path.Child("type"), t.Type, []string{"Percent", "Pods"}))
	}
	if t.Value < 1 || t.Value > most {
		p.add(field.Invalid(path.Child("value"), t.Value, fmt.Sprintf("must be from 1 to %d", most)))
	}
}

// analysis checks what the controller needs of any analysis. It refuses two
// rules for one metric after the fact.
func (p *problems) analysis(carried map[string]any, path *field.Path) {
	type rule struct {
		Metric string `json:"metricName"`
	}
	var a struct {
		Templates []struct {
			Name string `json:"templateName"`
		} `json:"templates"`
		DryRun               []rule `json:"dryRun"`
		MeasurementRetention []rule `json:"measurementRetention"`
	}
	if !p.read(carried, &a, path) {
		return
	}
	if len(a.Templates) == 0 {
		p.add(field.Required(path.Child("templates"), "list at least one template"))
	}
	for i, t := range a.Templates {
		if t.Name == "" {
			path := path.Child("templates").Index(i).Child("templateName")
			p.add(field.Required(path, "an analysis template of the namespace"))
		}
	}
	metric := func(r rule) string { return r.Metric }
	once(p, path.Child("dryRun"), a.DryRun, metric)
	once(p, path.Child("measurementRetention"), a.MeasurementRetention, metric)
}

// read fills a struct from a carried object, as far as the rules need it. It
// reports false if there is none, or if it does not fit.
func (p *problems) read(carried map[string]any, into any, path *field.Path) bool {
	if carried == nil {
		return false
	}
	err := remarshal(carried, into)
	if err != nil {
		p.add(field.TypeInvalid(path, field.OmitValueType{}, err.Error()))
		return false
	}
	return true
}
