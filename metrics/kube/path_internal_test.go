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
		"List":              {"GET of a collection is list.", "GET", "/api/v1/namespaces/ci/pods?limit=500", req("list", "", "pods")},
		"ListAll":           {"GET of a collection in all namespaces is a list.", "GET", "/apis/batch/v1/jobs", req("list", "batch", "jobs")},
		"Get":               {"GET by name is get.", "GET", "/apis/batch/v1/namespaces/ci/jobs/run-1", req("get", "batch", "jobs")},
		"Watch":             {"The query makes it a watch.", "GET", "/api/v1/pods?allowWatchBookmarks=true&watch=true&timeout=7m3s", req("watch", "", "pods")},
		"Watch1":            {"The short form of the query is accepted.", "GET", "/api/v1/pods?watch=1", req("watch", "", "pods")},
		"WatchTRUE":         {"The API server does not look at the case.", "GET", "/api/v1/pods?watch=TRUE", req("watch", "", "pods")},
		"WatchEmpty":        {"Nor does it want a value.", "GET", "/api/v1/pods?watch", req("watch", "", "pods")},
		"NoWatch":           {"watch=false is a list.", "GET", "/api/v1/pods?watch=false", req("list", "", "pods")},
		"WatchPath":         {"The old form of a watch.", "GET", "/api/v1/watch/namespaces/ci/pods", req("watch", "", "pods")},
		"Create":            {"POST to a collection is create.", "POST", "/apis/batch/v1/namespaces/ci/jobs?fieldManager=x", req("create", "batch", "jobs")},
		"Update":            {"PUT is update.", "PUT", "/api/v1/namespaces/ci/configmaps/a", req("update", "", "configmaps")},
		"PatchStatus":       {"The subresource is a part of the resource.", "PATCH", "/apis/agents.example.com/v1/namespaces/ci/agentruns/a/status", req("patch", "agents.example.com", "agentruns/status")},
		"Delete":            {"DELETE by name is delete.", "DELETE", "/api/v1/namespaces/ci/pods/a", req("delete", "", "pods")},
		"DeleteCollection":  {"DELETE without a name is deletecollection.", "DELETE", "/api/v1/namespaces/ci/pods", req("deletecollection", "", "pods")},
		"Evict":             {"POST to a subresource is create.", "POST", "/api/v1/namespaces/ci/pods/a/eviction", req("create", "", "pods/eviction")},
		"ServiceProxy":      {"The path after the subresource is not a part of the request's class.", "GET", "/api/v1/namespaces/ci/services/web/proxy/secret/path", req("get", "", "services/proxy")},
		"Namespace":         {"A path that ends at a namespace names the namespace itself.", "GET", "/api/v1/namespaces/ci", req("get", "", "namespaces")},
		"Namespaces":        {"Namespaces can be listed.", "GET", "/api/v1/namespaces", req("list", "", "namespaces")},
		"NamespaceStatus":   {"status is a subresource of a namespace, not a resource in it.", "PUT", "/api/v1/namespaces/ci/status", req("update", "", "namespaces/status")},
		"NamespaceFinalize": {"finalize is the other subresource.", "PUT", "/api/v1/namespaces/ci/finalize", req("update", "", "namespaces/finalize")},
		"NodeStatus":        {"A cluster-scoped resource has subresources too.", "PATCH", "/api/v1/nodes/n1/status", req("patch", "", "nodes/status")},
		"NodeProxy":         {"Each of its subresources belongs to it.", "GET", "/api/v1/nodes/n1/proxy", req("get", "", "nodes/proxy")},
		"Prefix":            {"A prefix of a proxy for many clusters is skipped.", "GET", "/k8s/clusters/c-1/apis/apps/v1/deployments", req("list", "apps", "deployments")},
		"PrefixApi":         {"A prefix may have a part api.", "GET", "/api/clusters/c-1/apis/apps/v1/deployments", req("list", "apps", "deployments")},
		"Workspace":         {"A prefix of kcp is skipped.", "GET", "/clusters/root:org/api/v1/pods", req("list", "", "pods")},
		"NamedApis":         {"An object may be called apis.", "GET", "/api/v1/namespaces/apis/pods/api", req("get", "", "pods")},
		"Discovery":         {"No resource.", "GET", "/apis/batch/v1", req("get", "", "")},
		"Groups":            {"No resource.", "GET", "/apis", req("get", "", "")},
		"Core":              {"No resource.", "GET", "/api", req("get", "", "")},
		"CoreVersion":       {"No resource.", "GET", "/api/v1", req("get", "", "")},
		"Health":            {"No resource.", "GET", "/readyz/etcd", req("get", "", "")},
		"OpenAPI":           {"No resource.", "GET", "/openapi/v3/apis/apps/v1", req("get", "", "")},
		"Slashes":           {"Empty parts do not count.", "GET", "//api//v1//pods//", req("list", "", "pods")},
		"Head":              {"HEAD is GET.", "HEAD", "/api/v1/pods", req("list", "", "pods")},
		"NoMethod":          {"For net/http an empty method is GET.", "", "/api/v1/pods", req("list", "", "pods")},
		"OtherMethod":       {"Methods are a closed set.", "OPTIONS", "/api/v1/pods", req("other", "", "pods")},
		"Empty":             {"An empty path has no resource.", "GET", "", req("get", "", "")},
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

// No name of an object or a namespace ever becomes a label.
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
