// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type analysis struct {
	Templates []struct {
		Name string `json:"templateName"`
	} `json:"templates"`
	StartingStep *int32     `json:"startingStep"`
	Args         []argument `json:"args"`
}

type argument struct {
	ValueFrom *struct {
		FieldRef *struct {
			FieldPath string `json:"fieldPath"`
		} `json:"fieldRef"`
	} `json:"valueFrom"`
}

// analysis: without templates the controller waits for ever for a result.
func (p *problems) analysis(m map[string]any, path *field.Path) {
	var a analysis
	p.read(m, &a, path)
	if len(a.Templates) == 0 {
		p.add(field.Required(path.Child("templates"), "an analysis runs at least one"))
	}
	for i, t := range a.Templates {
		if t.Name == "" {
			p.add(field.Required(path.Child("templates").Index(i).Child("templateName"), "an analysis template of the namespace"))
		}
	}
	p.arguments(a.Args, path)
}

func (p *problems) arguments(args []argument, path *field.Path) {
	for i, arg := range args {
		if arg.ValueFrom == nil || arg.ValueFrom.FieldRef == nil {
			continue
		}
		at := arg.ValueFrom.FieldRef.FieldPath
		if strings.HasPrefix(at, "metadata") && !downward(at) {
			p.add(field.Invalid(path.Child("args").Index(i).Child("valueFrom", "fieldRef", "fieldPath"), at,
				"must be metadata.name, metadata.namespace, metadata.uid, metadata.labels['key'] or metadata.annotations['key']"))
		}
	}
}

// downward: upstream reads metadata as the downward API does.
func downward(path string) bool {
	of, key, _ := strings.Cut(path, "['")
	if key, ok := strings.CutSuffix(key, "']"); ok {
		switch of {
		case "metadata.labels":
			return len(validation.IsQualifiedName(key)) == 0
		case "metadata.annotations":
			return len(validation.IsQualifiedName(strings.ToLower(key))) == 0
		}
		return false
	}
	return slices.Contains([]string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"}, path)
}

func (p *problems) experiment(m map[string]any, routes *routing, path *field.Path) {
	var e struct {
		Templates []struct {
			Weight *int32 `json:"weight"`
		} `json:"templates"`
		Analyses []struct {
			Args []argument `json:"args"`
		} `json:"analyses"`
	}
	if p.read(m, &e, path); len(e.Templates) == 0 {
		p.add(field.Required(path.Child("templates"), "an experiment runs at least one"))
	}
	for i, t := range e.Templates {
		if t.Weight != nil && !routes.by("smi", "alb", "istio", "plugins") {
			p.add(field.Forbidden(path.Child("templates").Index(i).Child("weight"), "needs trafficRouting by smi, alb, istio or plugins"))
		}
	}
	for i, a := range e.Analyses {
		p.arguments(a.Args, path.Child("analyses").Index(i))
	}
}
