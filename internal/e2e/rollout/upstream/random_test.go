// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"maps"
	"math/rand/v2"
	"strings"
)

// maker makes Rollouts that are right, or wrong in a few of all the ways that
// rollout.Validate claims to know: it leaves trafficRouting, blue-green,
// experiments, plugins, antiAffinity, the arguments of analyses and most rules
// for pods to the cluster. Equal seeds make equal Rollouts.
type maker struct{ *rand.Rand }

func of[T any](m maker, values ...T) T { return values[m.IntN(len(values))] }

type object = map[string]any

func (m maker) rollout() object {
	r := object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
		"metadata": object{"name": "web", "namespace": "shop"},
		"spec": object{
			"replicas": 5,
			"selector": object{"matchLabels": object{"app": "web"}},
			"template": object{
				"metadata": object{"labels": object{"app": "web", "tier": "api"}, "annotations": object{"a/b": "c"}},
				"spec":     object{"containers": []any{container("web")}},
			},
			"strategy": object{"canary": object{"maxSurge": 1, "maxUnavailable": 0, "steps": []any{object{"setWeight": 20}, object{"pause": object{}}}}},
		},
	}
	spec := r["spec"].(object)
	// Most have one change or two, so that about as many are right as wrong,
	// and a change is seen alone.
	for range m.IntN(4) {
		changes := []func(object){m.numbers, m.fences, m.steps, m.steps, m.selector, m.template, m.pod, m.pod, m.canary, m.workload, m.strategy}
		changes[m.IntN(len(changes))](spec)
	}
	return r
}

func container(name string) object { return object{"name": name, "image": name + ":1"} }

func at(o object, path string) object {
	for key := range strings.SplitSeq(path, ".") {
		next, ok := o[key].(object)
		if !ok {
			next = object{}
			o[key] = next
		}
		o = next
	}
	return o
}

func (m maker) numbers(spec object) {
	name := of(m, "replicas", "minReadySeconds", "progressDeadlineSeconds", "revisionHistoryLimit", "paused", "progressDeadlineAbort")
	switch name {
	case "paused", "progressDeadlineAbort":
		spec[name] = true
	default:
		spec[name] = of(m, -1, 0, 1, 2, 3, 5, 10, 599, 600, 601, 700)
	}
}

func (m maker) fence() any {
	return of[any](m, 0, 1, 2, -1, 100, "0%", "1%", "25%", "100%", "101%", "200%", "abc", "1", "0", "", "%", "-1%", "1.5%", nil)
}

func (m maker) fences(spec object) {
	c := at(spec, "strategy.canary")
	c["maxSurge"] = m.fence()
	if m.IntN(2) == 0 {
		c["maxUnavailable"] = m.fence()
	}
}

func (m maker) steps(spec object) {
	var steps []any
	for range m.IntN(5) {
		steps = append(steps, m.step())
	}
	at(spec, "strategy.canary")["steps"] = steps
}

func (m maker) step() object {
	s := object{}
	for range of(m, 0, 1, 1, 1, 1, 1, 1, 2) {
		switch m.IntN(12) {
		case 0, 1, 2, 3:
			s["setWeight"] = of(m, -1, 0, 1, 5, 20, 50, 75, 99, 100, 101, 1000)
		case 4, 5, 6:
			s["pause"] = of(m, object{}, object{"duration": of[any](m, 0, 1, 600, -5, "10m", "1h30m", "600", "-1", "1d", "", "abc", "500ms", "1500ms", "-1h", "1000000h", "2147483648")})
		case 7:
			s["analysis"] = m.analysis()
		case 8:
			t := object{"name": "a", "specRef": "stable"}
			s["experiment"] = object{"templates": []any{t}, "analyses": []any{merged(m.analysis(), object{"name": "x", "templateName": "t"})}}
		case 9:
			s["setCanaryScale"] = of(m, object{"weight": 20}, object{"replicas": 2}, object{"matchTrafficWeight": true}, object{})
		case 10:
			s["setHeaderRoute"] = object{"name": of(m, "one", "two", ""), "match": []any{object{"headerName": "h", "headerValue": m.match()}}}
		case 11:
			s[of(m, "setMirrorRoute", "plugin")] = object{"name": of(m, "one", "two"), "percentage": 5, "match": []any{object{"path": m.match(), "method": m.match()}}}
		}
	}
	if p, ok := s["plugin"].(object); ok {
		delete(p, "percentage")
		delete(p, "match")
	}
	return s
}

func merged(a, b object) object {
	maps.Copy(a, b)
	return a
}

func (m maker) match() any {
	return of[any](m, object{"exact": "a"}, object{"prefix": "a"}, object{"regex": "a"}, object{"exact": "a", "regex": "b"}, object{}, nil)
}

func (m maker) analysis() object {
	return object{
		"templates": of(m, []any{object{"templateName": "errors"}}, []any{object{}}, []any{}),
		"args":      []any{object{"name": "x", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}}}},
	}
}

func (m maker) selector(spec object) {
	switch m.IntN(6) {
	case 0:
		delete(spec, "selector")
	case 1:
		spec["selector"] = object{}
	case 2:
		at(spec, "selector")["matchLabels"] = object{m.key(): m.value()}
	default:
		e := object{"key": of(m, "app", "tier", "other", m.key()), "operator": of(m, "In", "NotIn", "Exists", "DoesNotExist", "Foo", "")}
		if m.IntN(2) == 0 {
			e["values"] = of(m, []any{"web"}, []any{"web", "api"}, []any{m.value()}, []any{})
		}
		at(spec, "selector")["matchExpressions"] = []any{e}
	}
}

func (m maker) key() string {
	return of(m, "app", "tier", "a.b/c", "a b", "", "/x", "A/b", strings.Repeat("k", 64), "x-", "x/y/z", "rollouts-pod-template-hash", "pod-template-hash", "a_b", "é")
}

func (m maker) value() string {
	return of(m, "web", "api", "", "a b", "-a", "a-", "A_b.c", strings.Repeat("v", 63), strings.Repeat("v", 64), "é")
}

func (m maker) template(spec object) {
	switch meta := at(spec, "template.metadata"); m.IntN(8) {
	case 0:
		delete(spec, "template")
	case 1:
		at(meta, "annotations")[m.key()] = of(m, "x", strings.Repeat("x", 1000), strings.Repeat("x", 256<<10))
	case 2:
		delete(meta, "labels")
	case 3:
		meta[of(m, "name", "generateName", "namespace")] = of(m, "x", "A b", "")
	default:
		at(meta, "labels")[m.key()] = m.value()
	}
}

func (m maker) pod(spec object) {
	p := at(spec, "template.spec")
	unnamed := container("web")
	delete(unnamed, "image")
	switch m.IntN(6) {
	case 0:
		p["restartPolicy"] = of(m, "Always", "Never", "OnFailure", "", "always")
	case 1:
		p["activeDeadlineSeconds"] = of(m, 0, 10, -1)
	case 2:
		p["containers"] = of(m, []any{}, []any{container("web"), container("side")}, []any{unnamed})
	case 3:
		p["initContainers"] = of(m, []any{container("init")}, []any{unnamed})
	case 4:
		at(p, "nodeSelector")["kubernetes.io/os"] = "linux"
	case 5:
		p["terminationGracePeriodSeconds"] = of(m, 0, 30)
	}
}

func (m maker) canary(spec object) {
	switch c := at(spec, "strategy.canary"); m.IntN(9) {
	case 0:
		c["canaryService"], c["stableService"] = of(m, "a", "b", ""), of(m, "a", "b", "")
	case 1:
		c["scaleDownDelaySeconds"] = of(m, 0, 30)
	case 2:
		c["dynamicStableScale"] = true
	case 3:
		c["antiAffinity"] = of(m, object{"requiredDuringSchedulingIgnoredDuringExecution": object{}},
			object{"preferredDuringSchedulingIgnoredDuringExecution": object{"weight": 1}})
	case 4:
		c["pingPong"] = object{"pingService": of(m, "a", ""), "pongService": of(m, "a", "b", "")}
	case 5:
		c["minPodsPerReplicaSet"] = of(m, -1, 0, 2)
	case 6:
		c["replicaProgressThreshold"] = object{"type": of(m, "Percent", "Pods", "Foo"), "value": of(m, 0, 1, 80, 200)}
	case 7:
		c["analysis"] = m.analysis()
	case 8:
		c[of(m, "abortScaleDownDelaySeconds", "scaleDownDelayRevisionLimit")] = of(m, 0, 5)
	}
}

func (m maker) workload(spec object) {
	spec["workloadRef"] = object{
		"apiVersion": of(m, "apps/v1", "v1", ""), "kind": of(m, "Deployment", "ReplicaSet", "PodTemplate", "StatefulSet"),
		"name": of(m, "web", "", "A B"), "scaleDown": of(m, "", "never", "onsuccess", "progressively", "bogus"),
	}
	if m.IntN(3) > 0 {
		delete(spec, "template")
	}
	if m.IntN(3) == 0 {
		delete(spec, "selector")
	}
}

func (m maker) strategy(spec object) {
	blue := object{"activeService": "a", "previewService": of(m, "", "c")}
	switch m.IntN(4) {
	case 0:
		spec["strategy"] = object{}
	case 1:
		at(spec, "strategy")["blueGreen"] = blue
	default:
		spec["strategy"] = object{"blueGreen": blue}
	}
}
