// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
)

func TestClassify(t *testing.T) {
	req := func(verb, group, resource string) metrics.Request {
		return metrics.Request{Verb: verb, Group: group, Resource: resource}
	}
	cases := map[string]struct {
		reason, method, url string
		want                metrics.Request
	}{
		"List":              {"A collection.", "GET", "/api/v1/namespaces/ci/pods?limit=500", req("list", "", "pods")},
		"ListAll":           {"Of all namespaces.", "GET", "/apis/batch/v1/jobs", req("list", "batch", "jobs")},
		"Get":               {"By name.", "GET", "/apis/batch/v1/namespaces/ci/jobs/run-1", req("get", "batch", "jobs")},
		"Watch":             {"Said by the query.", "GET", "/api/v1/pods?allowWatchBookmarks=true&watch=true&timeout=7m3s", req("watch", "", "pods")},
		"Watch1":            {"In the short form.", "GET", "/api/v1/pods?watch=1", req("watch", "", "pods")},
		"NoWatch":           {"Or denied by it.", "GET", "/api/v1/pods?watch=false", req("list", "", "pods")},
		"WatchPath":         {"The old form of a watch.", "GET", "/api/v1/watch/namespaces/ci/pods", req("watch", "", "pods")},
		"Create":            {"A collection that is posted to.", "POST", "/apis/batch/v1/namespaces/ci/jobs?fieldManager=x", req("create", "batch", "jobs")},
		"Update":            {"PUT.", "PUT", "/api/v1/namespaces/ci/configmaps/a", req("update", "", "configmaps")},
		"PatchStatus":       {"A subresource.", "PATCH", "/apis/agents.example.com/v1/namespaces/ci/agentruns/a/status", req("patch", "agents.example.com", "agentruns/status")},
		"Delete":            {"By name.", "DELETE", "/api/v1/namespaces/ci/pods/a", req("delete", "", "pods")},
		"DeleteCollection":  {"Without one.", "DELETE", "/api/v1/namespaces/ci/pods", req("deletecollection", "", "pods")},
		"Evict":             {"A subresource that is posted to.", "POST", "/api/v1/namespaces/ci/pods/a/eviction", req("create", "", "pods/eviction")},
		"ServiceProxy":      {"What follows the subresource is not ours.", "GET", "/api/v1/namespaces/ci/services/web/proxy/secret/path", req("get", "", "services/proxy")},
		"Namespace":         {"A namespace itself.", "GET", "/api/v1/namespaces/ci", req("get", "", "namespaces")},
		"Namespaces":        {"All of them.", "GET", "/api/v1/namespaces", req("list", "", "namespaces")},
		"NamespaceStatus":   {"Its own subresource, not a resource in it.", "PUT", "/api/v1/namespaces/ci/status", req("update", "", "namespaces/status")},
		"NamespaceFinalize": {"And the other.", "PUT", "/api/v1/namespaces/ci/finalize", req("update", "", "namespaces/finalize")},
		"NodeStatus":        {"Not in a namespace.", "PATCH", "/api/v1/nodes/n1/status", req("patch", "", "nodes/status")},
		"Prefix":            {"Behind a proxy for many clusters.", "GET", "/k8s/clusters/c-1/apis/apps/v1/deployments", req("list", "apps", "deployments")},
		"Workspace":         {"The same in kcp.", "GET", "/clusters/root:org/api/v1/pods", req("list", "", "pods")},
		"NamedApis":         {"An object may be called apis.", "GET", "/api/v1/namespaces/apis/pods/api", req("get", "", "pods")},
		"Discovery":         {"No resource.", "GET", "/apis/batch/v1", req("get", "", "")},
		"Groups":            {"No resource.", "GET", "/apis", req("get", "", "")},
		"Core":              {"No resource.", "GET", "/api", req("get", "", "")},
		"Health":            {"No resource.", "GET", "/readyz/etcd", req("get", "", "")},
		"OpenAPI":           {"No resource.", "GET", "/openapi/v3/apis/apps/v1", req("get", "", "")},
		"Slashes":           {"Empty parts do not count.", "GET", "//api//v1//pods//", req("list", "", "pods")},
		"Head":              {"HEAD is GET.", "HEAD", "/api/v1/pods", req("list", "", "pods")},
		"NoMethod":          {"So is no method, for net/http.", "", "/api/v1/pods", req("list", "", "pods")},
		"OtherMethod":       {"Methods are a closed set.", "OPTIONS", "/api/v1/pods", req("other", "", "pods")},
		"Empty":             {"Nothing at all.", "GET", "", req("get", "", "")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(tc.url)
			if tc.url != "" && strings.HasPrefix(tc.url, "//") {
				u, err = &url.URL{Path: tc.url}, nil
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, classify(&http.Request{Method: tc.method, URL: u}), tc.reason)
		})
	}
	assert.Equal(t, "list", classify(&http.Request{Method: http.MethodGet}).Verb, "a request without a URL")
}

// Names of objects and namespaces never become labels, whatever they are called.
func FuzzClassify(f *testing.F) {
	f.Add("GET", "pods", "ci", "api", "status")
	f.Add("DELETE", "jobs", "namespaces", "apis", "")
	f.Add("PATCH", "agentruns", "status", "finalize", "scale")
	f.Add("GET", "events", "v1", "watch", "log")
	f.Fuzz(func(t *testing.T, method, resource, namespace, name, sub string) {
		for _, part := range []string{resource, namespace, name, sub} {
			if strings.Contains(part, "/") {
				t.Skip("parts of a path have no slash")
			}
		}
		if resource == "" || namespace == "" || name == "" || resource == "watch" || resource == "status" || resource == "finalize" {
			t.Skip("not the path of an object in a namespace")
		}
		u := &url.URL{Path: strings.Join([]string{"/apis/batch/v1/namespaces", namespace, resource, name, sub}, "/")}
		got := classify(&http.Request{Method: method, URL: u})
		want := resource
		if sub != "" {
			want += "/" + sub
		}
		assert.Equal(t, want, got.Resource)
		assert.Equal(t, "batch", got.Group)
		assert.Contains(t, []string{"get", "create", "update", "patch", "delete", "other"}, got.Verb)
	})
}
