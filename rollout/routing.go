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
		return whole(n)
	case int32:
		return n
	case int:
		return whole(n)
	case float64:
		return whole(n)
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
	if w := t.MaxTrafficWeight; w != nil && (*w < 1 || !t.by("nginx", "plugins")) {
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

// by reports whether one of these routes.
func (t *routing) by(routers ...string) bool {
	return t != nil && slices.ContainsFunc(t.routers(), func(r string) bool { return slices.Contains(routers, r) })
}

func (t *routing) needsServices(pingPong bool) bool {
	return t.by("smi", "apisix", "ambassador", "nginx", "appMesh", "traefik") ||
		!pingPong && (t.by("alb") || t.by("istio") && t.Istio.DestinationRule == nil)
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
	if !t.by("alb", "istio", "plugins") {
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
