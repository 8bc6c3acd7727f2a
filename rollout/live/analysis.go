// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// template is an AnalysisTemplate that an analysis or another template names.
type template struct {
	kind, name string
	path       *field.Path
	spec       map[string]any
}

func (t template) is(o template) bool { return t.kind == o.kind && t.name == o.name }

// analysis looks at the templates of an analysis. It must end by itself, unless
// it runs in the background and ends with the canary.
func (l *lookup) analysis(ctx context.Context, analysis map[string]any, path *field.Path, ends bool) {
	refs := list(analysis["templates"])
	paths := make([]*field.Path, len(refs))
	for i := range refs {
		paths[i] = path.Child("templates").Index(i).Child("templateName")
	}
	found, all := l.templates(ctx, refs, paths)
	for _, t := range found {
		if ends {
			l.finite(t)
			l.declared(t, list(t.spec["args"]))
		}
	}
	if !all {
		return // a template that could not be read may have the values
	}
	args := gathered(found, "args")
	l.arguments(list(analysis["args"]), args, path, ends)
	l.agree(args, path)
	if !ends {
		for _, t := range found {
			l.declared(t, args)
		}
	}
	l.unique(gathered(found, "metrics"), nil, "name", "two metrics have this name", path)
	for _, rules := range []string{"dryRun", "measurementRetention"} {
		own := list(analysis[rules])
		detail := "two rules of " + rules + " are for this metric"
		l.unique(gathered(found, rules), own, "metricName", detail, path)
	}
}

// templates reads templates and the templates that they name, each once, so
// that a cycle of names ends. All is false if one is missing.
func (l *lookup) templates(
	ctx context.Context, refs []any, paths []*field.Path,
) (found []template, all bool) {
	var queue []template
	add := func(ref map[string]any, path *field.Path) {
		t := template{kind: "AnalysisTemplate", name: text(ref["templateName"]), path: path}
		if cluster, _ := ref["clusterScope"].(bool); cluster {
			t.kind = "ClusterAnalysisTemplate"
		}
		if !slices.ContainsFunc(queue, t.is) {
			queue = append(queue, t)
		}
	}
	for i := range refs {
		add(object(refs[i]), paths[i])
	}
	all = true
	for i := 0; i < len(queue); i++ { //nolint:intrange // the queue grows
		t := queue[i]
		obj := l.find(ctx, t.path, t.kind, t.name)
		if obj == nil {
			all = false
			continue
		}
		t.spec = object(obj.Object["spec"])
		found = append(found, t)
		for _, inner := range list(t.spec["templates"]) {
			add(object(inner), t.path)
		}
	}
	return found, all
}

// gathered is a list of all templates together.
func gathered(templates []template, name string) (all []any) {
	for _, t := range templates {
		all = append(all, list(t.spec[name])...)
	}
	return all
}

// arguments reports each argument without a value. A value in one template
// serves all, except for an analysis in the background, whose templates are
// checked each alone.
func (l *lookup) arguments(given, args []any, path *field.Path, shared bool) {
	has := map[string]bool{}
	for _, a := range given {
		has[text(object(a)["name"])] = true
	}
	for _, a := range args {
		if shared && hasValue(object(a)) {
			has[text(object(a)["name"])] = true
		}
	}
	for _, a := range args {
		name := text(object(a)["name"])
		if has[name] || hasValue(object(a)) {
			continue
		}
		has[name] = true // once
		l.invalid(path.Child("args"), name,
			"the templates need this argument, and have no value for it; set it")
	}
}

func hasValue(arg map[string]any) bool { return arg["value"] != nil || arg["valueFrom"] != nil }

// agree reports an argument with two values. The controller refuses it, also if
// the analysis has a third.
func (l *lookup) agree(args []any, path *field.Path) {
	values := map[string]any{}
	for _, a := range args {
		name := text(object(a)["name"])
		value := object(a)["value"]
		if value == nil {
			continue
		}
		before, ok := values[name]
		if ok && text(before) != text(value) {
			l.invalid(path.Child("templates"), name, "the templates have two values for this argument; "+
				"leave one, or set it in the analysis alone")
		}
		values[name] = value
	}
}

// unique reports a name that comes twice in the templates and in the analysis.
// Two in the analysis itself are an error of Validate.
func (l *lookup) unique(theirs, own []any, key, detail string, path *field.Path) {
	var names []string
	for _, item := range theirs {
		names = append(names, text(object(item)[key]))
	}
	ours := map[string]bool{}
	for _, item := range own {
		ours[text(object(item)[key])] = true
	}
	for i, name := range names {
		twice := slices.Contains(names[:i], name)
		if twice || ours[name] {
			l.invalid(path.Child("templates"), name, "%s; the controller takes each once", detail)
		}
	}
}

// finite reports each metric that is measured forever: a step with it is never
// done.
func (l *lookup) finite(t template) {
	for _, m := range list(t.spec["metrics"]) {
		metric := object(m)
		if endless(metric, list(t.spec["args"])) {
			l.invalid(t.path, t.name, "metric %s of this %s is measured forever; set its count",
				text(metric["name"]), t.kind)
		}
	}
}

// endless: measured at an interval, and not so many times. For a count that is
// an argument the controller looks at the template's own value alone.
func endless(metric map[string]any, args []any) bool {
	if text(metric["interval"]) == "" {
		return false
	}
	count := placeholder().ReplaceAllStringFunc(text(metric["count"]), func(tag string) string {
		for _, a := range args {
			arg := object(a)
			if named(tag) == "args."+text(arg["name"]) && arg["value"] != nil {
				return text(arg["value"])
			}
		}
		return "unknown"
	})
	n, _ := strconv.Atoi(count)
	return n == 0
}

// declared reports what the metrics of a template take and nothing declares.
func (l *lookup) declared(t template, args []any) {
	known := map[string]bool{}
	for _, a := range args {
		known["args."+text(object(a)["name"])] = true
	}
	for _, m := range list(t.spec["metrics"]) {
		data, err := json.Marshal(m)
		if err != nil {
			continue // not reached: it was JSON
		}
		for _, tag := range placeholder().FindAllString(string(data), -1) {
			name := named(tag)
			if known[name] {
				continue
			}
			known[name] = true // once
			l.invalid(t.path, t.name, "metric %s of this %s takes {{%s}}; declare it in the template's args",
				text(object(m)["name"]), t.kind, name)
		}
	}
}

// placeholder is what the controller replaces in a metric.
func placeholder() *regexp.Regexp { return regexp.MustCompile(`\{\{.*?\}\}`) }

// named is the name in a placeholder.
func named(tag string) string { return strings.TrimSpace(strings.Trim(tag, "{}")) }
