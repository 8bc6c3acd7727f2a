// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"
	"slices"
	"strings"

	"github.com/proompteng/controllerkit/metrics"
)

// classify returns verb, group and resource of a request from its method and
// path, by the rules of the API server
// (apiserver/pkg/endpoints/request/requestinfo.go). A path may have a prefix,
// as behind a proxy for many clusters. A path without a resource, such as
// discovery, has neither group nor resource. The answer never holds a name or a
// namespace.
func classify(req *http.Request) metrics.Request {
	if req.URL == nil {
		return metrics.Request{Verb: verb(req, false)}
	}
	group, rest, ok := afterVersion(req.URL.Path)
	if !ok {
		return metrics.Request{Verb: verb(req, true)}
	}
	first, below := cut(rest)
	watching := first == "watch"
	if watching {
		rest = below
	}
	resource, name, sub := split(rest)
	r := metrics.Request{Group: group, Resource: resource, Verb: verb(req, name != "")}
	if sub != "" {
		r.Resource += "/" + sub
	}
	if watching {
		r.Verb = "watch"
	}
	return r
}

// afterVersion finds /api/v1/… or /apis/group/version/… in a path and returns
// the group and the path after the version.
func afterVersion(path string) (group, rest string, ok bool) {
	for path != "" {
		var part string
		part, path = cut(path)
		switch part {
		case "api":
			version, rest := cut(path)
			if strings.HasPrefix(version, "v") && rest != "" {
				return "", rest, true
			}
		case "apis":
			group, versioned := cut(path)
			_, rest := cut(versioned)
			return group, rest, rest != ""
		}
	}
	return "", "", false
}

// split reads resource/name/subresource behind an optional namespaces/name. The
// resource namespaces has two subresources.
func split(rest string) (resource, name, sub string) {
	var parts [5]string
	for n := range parts {
		parts[n], rest = cut(rest)
	}
	below := parts[2]
	if parts[0] == "namespaces" && below != "" && below != "status" && below != "finalize" {
		return below, parts[3], parts[4]
	}
	return parts[0], parts[1], parts[2]
}

func verb(req *http.Request, named bool) string {
	switch req.Method {
	case http.MethodGet, http.MethodHead, "":
		switch {
		case watches(req):
			return "watch"
		case named:
			return "get"
		}
		return "list"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	}
	return "other"
}

// watches reports whether the query asks for a watch, by the rule of the API
// server: each value but false and 0 does, also an empty one.
func watches(req *http.Request) bool {
	if req.URL == nil {
		return false
	}
	values := req.URL.Query()["watch"]
	return len(values) > 0 && !slices.Contains([]string{"false", "0"}, strings.ToLower(values[0]))
}

// cut takes the first part off a path; empty parts do not count.
func cut(path string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimLeft(path, "/"), "/")
	return first, strings.TrimLeft(rest, "/")
}
