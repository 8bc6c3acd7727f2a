// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// carriedStep checks the actions of a step that this package does not make.
func (p *problems) carriedStep(r *Rollout, s *Step, i int) {
	if s.Experiment == nil && s.Analysis == nil && s.SetCanaryScale == nil && s.SetHeaderRoute == nil && s.SetMirrorRoute == nil && s.Plugin == nil {
		return
	}
	var quiet problems // the router's own problems are reported once, not for every step
	t := quiet.routes(r.Spec.Strategy.Canary)
	if s.Analysis != nil {
		p.analysis(s.Analysis, step(i).Child("analysis"))
	}
	if s.Experiment != nil {
		p.experiment(s.Experiment, t, step(i).Child("experiment"))
	}
	if name, _ := s.Plugin["name"].(string); s.Plugin != nil && name == "" {
		p.add(field.Required(step(i).Child("plugin", "name"), "one that the controller is configured with"))
	}
	if s.SetCanaryScale != nil {
		p.canaryScale(s.SetCanaryScale, t, step(i).Child("setCanaryScale"))
	}
	if s.SetHeaderRoute != nil {
		p.headerRoute(s.SetHeaderRoute, t, step(i).Child("setHeaderRoute"))
	}
	if s.SetMirrorRoute != nil {
		p.mirrorRoute(s.SetMirrorRoute, t, step(i).Child("setMirrorRoute"))
	}
}

func (p *problems) canaryScale(m map[string]any, t *routing, path *field.Path) {
	var s struct {
		Weight   *int32 `json:"weight"`
		Replicas *int32 `json:"replicas"`
		Match    bool   `json:"matchTrafficWeight"`
	}
	p.read(m, &s, path)
	if t == nil {
		p.add(field.Forbidden(path, "needs trafficRouting; without it setWeight sets the scale"))
	}
	if s.Weight == nil && s.Replicas == nil && !s.Match {
		p.add(field.Required(path, "one of weight, replicas, matchTrafficWeight"))
	}
}

type stringMatch struct {
	Exact  string `json:"exact"`
	Prefix string `json:"prefix"`
	Regex  string `json:"regex"`
}

func (p *problems) headerRoute(m map[string]any, t *routing, path *field.Path) {
	var s struct {
		Name  string `json:"name"`
		Match []struct {
			HeaderValue *stringMatch `json:"headerValue"`
		} `json:"match"`
	}
	p.read(m, &s, path)
	if !t.by("istio", "alb", "apisix", "plugins") {
		p.add(field.Forbidden(path, "needs trafficRouting by istio, alb, apisix or plugins"))
	}
	for i, match := range s.Match {
		p.match(match.HeaderValue, t.by("alb"), path.Child("match").Index(i).Child("headerValue"))
	}
	p.managed(s.Name, t, path)
}

func (p *problems) mirrorRoute(m map[string]any, t *routing, path *field.Path) {
	var s struct {
		Name  string `json:"name"`
		Match []struct {
			Method *stringMatch `json:"method"`
			Path   *stringMatch `json:"path"`
		} `json:"match"`
	}
	p.read(m, &s, path)
	if !t.by("istio", "plugins") {
		p.add(field.Forbidden(path, "needs trafficRouting by istio or plugins"))
	}
	for i, match := range s.Match {
		if match.Method != nil {
			p.match(match.Method, false, path.Child("match").Index(i).Child("method"))
		}
		if match.Path != nil {
			p.match(match.Path, false, path.Child("match").Index(i).Child("path"))
		}
	}
	p.managed(s.Name, t, path)
}

func (p *problems) match(m *stringMatch, exactOnly bool, path *field.Path) {
	count := 0
	if m != nil {
		for _, v := range []string{m.Exact, m.Prefix, m.Regex} {
			if v != "" {
				count++
			}
		}
	}
	if count != 1 || exactOnly && m.Exact == "" {
		p.add(field.Required(path, "exactly one of exact, regex, prefix; alb takes exact alone"))
	}
}

func (p *problems) managed(name string, t *routing, path *field.Path) {
	if t == nil {
		return
	}
	if !slices.ContainsFunc(t.ManagedRoutes, func(r struct {
		Name string `json:"name"`
	},
	) bool {
		return r.Name == name
	}) {
		p.add(field.Invalid(path.Child("name"), name, "must be one of spec.strategy.canary.trafficRouting.managedRoutes"))
	}
}
