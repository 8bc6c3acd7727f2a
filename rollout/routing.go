// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

type routing struct {
	ALB *struct {
		RootService string `json:"rootService"`
	} `json:"alb"`
	Istio *struct {
		DestinationRule *struct{} `json:"destinationRule"`
	} `json:"istio"`
	SMI           *struct{} `json:"smi"`
	Apisix        *struct{} `json:"apisix"`
	Ambassador    *struct{} `json:"ambassador"`
	Nginx         *struct{} `json:"nginx"`
	AppMesh       *struct{} `json:"appMesh"`
	Traefik       *struct{} `json:"traefik"`
	ManagedRoutes []struct {
		Name string `json:"name"`
	} `json:"managedRoutes"`
	Plugins          map[string]any `json:"plugins"`
	MaxTrafficWeight *int32         `json:"maxTrafficWeight"`
}

// maxWeight is what the weights add up to.
func (c *Canary) maxWeight() int32 {
	switch n := c.TrafficRouting["maxTrafficWeight"].(type) {
	case int64:
		return int32(n)
	case int32:
		return n
	case int:
		return int32(n)
	case float64:
		return int32(n)
	}
	return 100
}

func (p *problems) routes(c *Canary) *routing {
	if c.TrafficRouting == nil {
		return nil
	}
	t := new(routing)
	p.read(c.TrafficRouting, t, inCanary("trafficRouting"))
	return t
}

// routing checks trafficRouting and what works with it alone.
func (p *problems) routing(r *Rollout) {
	c := r.Spec.Strategy.Canary
	t := p.routes(c)
	if t == nil {
		for _, only := range []struct {
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
		return
	}
	if len(t.routers()) == 0 {
		p.add(field.Required(inCanary("trafficRouting"), "exactly one router, such as nginx or istio"))
	}
	if c.ScaleDownDelaySeconds != nil && c.DynamicStableScale {
		p.add(field.Forbidden(inCanary("dynamicStableScale"), "not together with scaleDownDelaySeconds"))
	}
	if w := t.MaxTrafficWeight; w != nil && (*w < 1 || t.Nginx == nil && len(t.Plugins) == 0) {
		p.add(field.Invalid(inCanary("trafficRouting", "maxTrafficWeight"), *w, "must be at least 1, and needs nginx or plugins"))
	}
	for _, service := range []struct{ name, value string }{{"stableService", c.StableService}, {"canaryService", c.CanaryService}} {
		if service.value == "" && t.needsServices(c.PingPong != nil) {
			p.add(field.Required(inCanary(service.name), "the router sends traffic by it"))
		}
	}
	p.pingPong(c, t)
}

func (t *routing) routers() []string {
	var names []string
	for _, router := range []struct {
		name string
		set  bool
	}{
		{"alb", t.ALB != nil},
		{"ambassador", t.Ambassador != nil},
		{"apisix", t.Apisix != nil},
		{"appMesh", t.AppMesh != nil},
		{"istio", t.Istio != nil},
		{"nginx", t.Nginx != nil},
		{"plugins", len(t.Plugins) > 0},
		{"smi", t.SMI != nil},
		{"traefik", t.Traefik != nil},
	} {
		if router.set {
			names = append(names, router.name)
		}
	}
	return names
}

func (t *routing) needsServices(pingPong bool) bool {
	return t.SMI != nil || t.Apisix != nil || t.Ambassador != nil || t.Nginx != nil || t.AppMesh != nil || t.Traefik != nil ||
		t.ALB != nil && !pingPong || t.Istio != nil && t.Istio.DestinationRule == nil && !pingPong
}

func (p *problems) pingPong(c *Canary, t *routing) {
	if c.PingPong == nil {
		return
	}
	var services struct {
		Ping string `json:"pingService"`
		Pong string `json:"pongService"`
	}
	path := inCanary("pingPong")
	p.read(c.PingPong, &services, path)
	if t.ALB == nil && t.Istio == nil && len(t.Plugins) == 0 {
		p.add(field.Forbidden(path, "works with alb, istio and plugins only"))
	}
	if services.Ping == "" {
		p.add(field.Required(path.Child("pingService"), "one of two different services"))
	}
	if services.Pong == "" || services.Pong == services.Ping {
		p.add(field.Invalid(path.Child("pongService"), services.Pong, "must be a service other than pingService"))
	}
	if t.ALB != nil && t.ALB.RootService == "" {
		p.add(field.Required(inCanary("trafficRouting", "alb", "rootService"), "alb with pingPong needs it"))
	}
}

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
	if t == nil || t.Istio == nil && t.ALB == nil && t.Apisix == nil && len(t.Plugins) == 0 {
		p.add(field.Forbidden(path, "needs trafficRouting by istio, alb, apisix or plugins"))
	}
	for i, match := range s.Match {
		p.match(match.HeaderValue, t != nil && t.ALB != nil, path.Child("match").Index(i).Child("headerValue"))
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
	if t == nil || t.Istio == nil && len(t.Plugins) == 0 {
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
