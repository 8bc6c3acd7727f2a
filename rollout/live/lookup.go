// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	namespace := l.rollout.GetNamespace()
	where := " in namespace " + namespace
	if kind == "ClusterAnalysisTemplate" {
		namespace = ""
		where = ""
	}
	obj, err := l.once(ctx, kind, namespace, name)
	// A kind that is not served is a 404 too.
	gone, err := notfound.Is(err, schema.GroupResource{}, name)
	switch {
	case gone:
		l.lacks(path, name, "there is no such %s%s; create it before the Rollout", kind, where)
	case err != nil:
		l.unknown(path, kind, where, err)
	}
	return obj
}

// unknown: nothing is known of what the cluster has.
func (l *lookup) unknown(path *field.Path, kind, where string, err error) {
	switch {
	case apierrors.IsForbidden(err):
		l.add(field.Forbidden(path, fmt.Sprintf("not known: get of %s%s needs to be allowed to you: %v",
			resource(kind).GroupResource(), where, err)))
	case apierrors.IsNotFound(err):
		l.lacks(path, kind, "the cluster does not serve this kind; install the CRDs of Argo Rollouts")
	default:
		l.add(field.InternalError(path, fmt.Errorf("not known: %w", err)))
	}
}

func (l *lookup) lacks(path *field.Path, value, format string, args ...any) {
	e := field.NotFound(path, value)
	e.Detail = fmt.Sprintf(format, args...)
	l.add(e)
}

// once reads an object at most once. It reads nothing after ctx is done or the
// limit is reached.
func (l *lookup) once(
	ctx context.Context, kind, namespace, name string,
) (*unstructured.Unstructured, error) {
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
	configured := ""
	if obj != nil {
		configured = text(object(obj.Object["data"])["stepPlugins"])
	}
	err = yaml.Unmarshal([]byte(configured), &plugins)
	if err != nil {
		l.add(field.InternalError(path, fmt.Errorf("not known: stepPlugins in %s: %w", where, err)))
		return
	}
	var names []string
	for _, p := range plugins {
		if p.Name == name {
			return
		}
		names = append(names, p.Name)
	}
	known := cmp.Or(strings.Join(names, ", "), "none")
	l.lacks(path, name, "the controller would never get past it: configured are %s; "+
		"add it to stepPlugins in %s and restart the controller", known, where)
}
