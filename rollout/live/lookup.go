// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/proompteng/controllerkit/internal/notfound"
)

// mostReads bounds what a Rollout with many steps, or templates that name
// templates, costs the server.
const mostReads = 100

// resource is where objects of a kind are.
func resource(kind string) schema.GroupVersionResource {
	switch kind {
	case "Deployment":
		return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	case "ReplicaSet":
		return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	case "PodTemplate":
		return schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"}
	case "Service":
		return schema.GroupVersionResource{Version: "v1", Resource: "services"}
	case "ConfigMap":
		return schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	case "ClusterAnalysisTemplate":
		return GVR().GroupVersion().WithResource("clusteranalysistemplates")
	default:
		return GVR().GroupVersion().WithResource("analysistemplates")
	}
}

// find is the object that path names, or nil and why.
func (l *lookup) find(ctx context.Context, path *field.Path, kind, name string) *unstructured.Unstructured {
	if name == "" {
		return nil // an error of Validate
	}
	namespace, where := l.rollout.GetNamespace(), " in namespace "+l.rollout.GetNamespace()
	if kind == "ClusterAnalysisTemplate" {
		namespace, where = "", ""
	}
	obj, err := l.once(ctx, kind, namespace, name)
	// A kind that is not served is a 404 too.
	gone, err := notfound.Is(err, schema.GroupResource{}, name)
	switch {
	case gone:
		l.add(notFound(path, name, fmt.Sprintf("there is no such %s%s; create it before the Rollout", kind, where)))
	case err != nil:
		l.unknown(path, kind, where, err)
	}
	return obj
}

// unknown: nothing is known of what the cluster has.
func (l *lookup) unknown(path *field.Path, kind, where string, err error) {
	switch {
	case apierrors.IsForbidden(err):
		l.add(field.Forbidden(path, fmt.Sprintf("not known: get of %s%s needs to be allowed to you: %v", resource(kind).GroupResource(), where, err)))
	case apierrors.IsNotFound(err):
		l.add(notFound(path, kind, "the cluster does not serve this kind; install the CRDs of Argo Rollouts"))
	default:
		l.add(field.InternalError(path, fmt.Errorf("not known: %w", err)))
	}
}

func notFound(path *field.Path, value, detail string) *field.Error {
	e := field.NotFound(path, value)
	e.Detail = detail
	return e
}

// once reads an object at most once. It reads nothing after ctx is done or the
// limit is reached.
func (l *lookup) once(ctx context.Context, kind, namespace, name string) (*unstructured.Unstructured, error) {
	key := kind + "/" + namespace + "/" + name
	if a, ok := l.read[key]; ok {
		return a.obj, a.err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(l.read) == mostReads {
		return nil, fmt.Errorf("not looked at: it comes after %d others", mostReads)
	}
	obj, err := l.get(ctx, resource(kind), namespace, name)
	switch {
	case err != nil:
		obj = nil
	case obj == nil:
		err = errors.New("the client returned no object")
	}
	l.read[key] = answer{obj, err}
	return obj, err
}

// analysis looks at the templates of an analysis. It must end by itself, unless
// it runs in the background and ends with the canary.
func (l *lookup) analysis(ctx context.Context, analysis map[string]any, path *field.Path, ends bool) {
	// Of all templates together: a value in one serves all, except for an
	// analysis in the background, whose templates are checked each alone.
	var args []any
	known := true
	for i, t := range list(analysis["templates"]) {
		specs, all := l.template(ctx, object(t), path.Child("templates").Index(i).Child("templateName"), ends)
		for _, spec := range specs {
			args = append(args, list(spec["args"])...)
		}
		known = known && all
	}
	if !known {
		return // a template that could not be read may have the values
	}
	has := map[string]bool{}
	for _, a := range list(analysis["args"]) {
		has[text(object(a)["name"])] = true
	}
	for _, a := range args {
		if a := object(a); ends && hasValue(a) {
			has[text(a["name"])] = true
		}
	}
	for _, a := range args {
		if name := text(object(a)["name"]); !has[name] && !hasValue(object(a)) {
			has[name] = true // once
			l.add(field.Invalid(path.Child("args"), name, "the templates need this argument, and have no value for it; set it"))
		}
	}
}

func hasValue(arg map[string]any) bool { return arg["value"] != nil || arg["valueFrom"] != nil }

// template looks at a template and at the templates that it names. Each is
// looked at once, so that a cycle of names ends.
func (l *lookup) template(ctx context.Context, ref map[string]any, path *field.Path, ends bool) (specs []map[string]any, all bool) {
	all = true
	type named struct{ kind, name string }
	of := func(ref map[string]any) named {
		kind := "AnalysisTemplate"
		if cluster, _ := ref["clusterScope"].(bool); cluster {
			kind = "ClusterAnalysisTemplate"
		}
		return named{kind, text(ref["templateName"])}
	}
	for queue, i := []named{of(ref)}, 0; i < len(queue); i++ {
		t := l.find(ctx, path, queue[i].kind, queue[i].name)
		if t == nil {
			all = false
			continue
		}
		spec := object(t.Object["spec"])
		specs = append(specs, spec)
		for _, m := range list(spec["metrics"]) {
			if m := object(m); ends && endless(m, list(spec["args"])) {
				l.add(field.Invalid(path, queue[i].name, fmt.Sprintf("metric %s of this %s is measured forever; set its count", text(m["name"]), queue[i].kind)))
			}
		}
		for _, inner := range list(spec["templates"]) {
			if n := of(object(inner)); !slices.Contains(queue, n) {
				queue = append(queue, n)
			}
		}
	}
	return specs, all
}

// endless: measured at an interval, and not so many times. For a count that is
// an argument the controller looks at the template's own value alone.
func endless(metric map[string]any, args []any) bool {
	count := text(metric["count"])
	argument := regexp.MustCompile(`\{\{\s*args\.([^}\s]+)\s*\}\}`)
	count = argument.ReplaceAllStringFunc(count, func(ref string) string {
		name, value := argument.FindStringSubmatch(ref)[1], "unknown"
		for _, a := range args {
			if a := object(a); text(a["name"]) == name && a["value"] != nil {
				value = text(a["value"])
			}
		}
		return value
	})
	n, _ := strconv.Atoi(count)
	return text(metric["interval"]) != "" && n == 0
}

// plugin: the step of an unknown plugin never ends.
func (l *lookup) plugin(ctx context.Context, path *field.Path, name string) {
	const config = "argo-rollouts-config"
	where := "ConfigMap " + config + " of namespace " + l.controller
	obj, err := l.once(ctx, "ConfigMap", l.controller, config)
	if _, err = notfound.Is(err, schema.GroupResource{}, config); err != nil {
		l.unknown(path, "ConfigMap", " in namespace "+l.controller, err)
		return
	}
	var plugins []struct {
		Name string `json:"name"`
	}
	var names []string
	if obj != nil {
		if err := yaml.Unmarshal([]byte(text(object(obj.Object["data"])["stepPlugins"])), &plugins); err != nil {
			l.add(field.InternalError(path, fmt.Errorf("not known: stepPlugins in %s: %w", where, err)))
			return
		}
	}
	for _, p := range plugins {
		if names = append(names, p.Name); p.Name == name {
			return
		}
	}
	if names == nil {
		names = []string{"none"}
	}
	l.add(notFound(path, name, fmt.Sprintf("the controller would never get past it: configured are %s; add it to stepPlugins in %s and restart the controller", strings.Join(names, ", "), where)))
}
