// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// kinds are the kinds that are listed.
var kinds = map[string]string{"reports": "Report", "jobs": "Job"}

// object is a stored object.
type object = map[string]any

// api is an API server in memory, as the transport of a rest.Config. It stores
// every resource, has no schema and no admission, and allows only what the
// roles of role.yaml do.
type api struct {
	mu       sync.Mutex
	version  int
	objects  map[string]object // by path
	watches  map[chan object]request
	allowed  []rbacv1.PolicyRule
	used     map[string]bool                          // rights
	hung     map[chan object]bool                     // watches that get nothing more
	fault    func(request) (code int, message string) // if set; 0 is none
	prune    func(object)                             // if set, removes what the schema does not have
	warnings []string                                 // the headers of an answer to a creation
}

// request is one request, as the authorizer of an API server sees it.
type request struct{ verb, group, resource, sub, namespace, name, path string }

func (r request) right() string {
	return strings.TrimSuffix(r.verb+" "+r.group+"/"+r.resource+"/"+r.sub, "/")
}

// config is for clients of the API server.
func (a *api) config() *rest.Config {
	config := &rest.Config{Host: "http://api", Transport: a}
	config.ContentType = runtime.ContentTypeJSON
	return config
}

// parse reads /apis/batch/v1/namespaces/default/jobs/a/status and the like.
func parse(r *http.Request) request {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	out := request{verb: map[string]string{"POST": "create", "PUT": "update", "PATCH": "patch", "GET": "get"}[r.Method]}
	if parts[0] == "apis" {
		out.group = parts[1]
		parts = parts[1:]
	}
	parts = parts[2:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		out.namespace = parts[1]
		parts = parts[2:]
	}
	out.resource = parts[0]
	if len(parts) > 1 {
		out.name = parts[1]
	}
	if len(parts) > 2 {
		out.sub = parts[2]
	}
	if out.verb == "get" && out.name == "" {
		out.verb = "list"
		if r.URL.Query().Get("watch") != "" {
			out.verb = "watch"
		}
	}
	out.path = out.group + "/" + out.namespace + "/" + out.resource + "/" + out.name
	return out
}

// RoundTrip answers a request.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	call := parse(r)
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[call.right()] = true
	if !a.may(call) {
		return a.refuse(r, http.StatusForbidden, "Forbidden", "not in role.yaml: "+call.right()), nil
	}
	if a.fault != nil {
		code, message := a.fault(call)
		if code != 0 {
			return a.refuse(r, code, map[int]string{403: "Forbidden", 422: "Invalid"}[code], message), nil
		}
	}
	switch call.verb {
	case "watch":
		if r.URL.Query().Get("sendInitialEvents") != "" {
			return a.refuse(r, http.StatusUnprocessableEntity, "Invalid", "want a list first"), nil
		}
		return a.watch(r, call), nil
	case "list":
		list := object{
			"kind": kinds[call.resource] + "List", "apiVersion": strings.Trim(call.group+"/v1", "/"),
			"metadata": object{"resourceVersion": strconv.Itoa(a.version)}, "items": a.list(call),
		}
		return answer(r, http.StatusOK, list), nil
	case "create":
		return a.create(r, call, body)
	}
	stored, found := a.objects[call.path]
	if !found {
		return a.refuse(r, http.StatusNotFound, "NotFound", "no "+call.path), nil
	}
	if call.verb == "get" {
		return answer(r, http.StatusOK, stored), nil
	}
	changed, err := change(stored, body, r.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	if version(changed) != version(stored) {
		return a.refuse(r, http.StatusConflict, "Conflict", "another version: "+call.path), nil
	}
	a.store(call, changed)
	return answer(r, http.StatusOK, changed), nil
}

func (a *api) create(r *http.Request, call request, body []byte) (*http.Response, error) {
	var created object
	err := json.Unmarshal(body, &created)
	if err != nil {
		return nil, err
	}
	call.path += (&unstructured.Unstructured{Object: created}).GetName()
	if a.objects[call.path] != nil {
		return a.refuse(r, http.StatusConflict, "AlreadyExists", call.path), nil
	}
	a.store(call, created)
	out := answer(r, http.StatusCreated, created)
	for _, header := range a.warnings {
		out.Header.Add("Warning", header)
	}
	return out, nil
}

// list returns the objects of a resource.
func (a *api) list(call request) []object {
	items := []object{}
	for _, path := range slices.Sorted(maps.Keys(a.objects)) {
		if strings.HasPrefix(path, call.group+"/") && strings.Contains(path, "/"+call.resource+"/") {
			items = append(items, a.objects[path])
		}
	}
	return items
}

// may reports whether a rule allows a request.
func (a *api) may(call request) bool {
	resource := strings.TrimSuffix(call.resource+"/"+call.sub, "/")
	return slices.ContainsFunc(a.allowed, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, call.verb) && slices.Contains(rule.APIGroups, call.group) &&
			slices.Contains(rule.Resources, resource) &&
			(rule.ResourceNames == nil || slices.Contains(rule.ResourceNames, call.name))
	})
}

// unused returns the rights of the role that no request has used.
func (a *api) unused() (rights []string) {
	for _, rule := range a.allowed {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					rights = append(rights, verb+" "+group+"/"+resource)
				}
			}
		}
	}
	slices.Sort(rights)
	return slices.DeleteFunc(rights, func(right string) bool { return a.used[right] })
}

// change returns an object after a PUT, a merge patch or a JSON patch.
func change(stored object, body []byte, kind string) (object, error) {
	changed := runtime.DeepCopyJSON(stored)
	switch {
	case strings.HasPrefix(kind, "application/json-patch"):
		patch, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(stored)
		if err != nil {
			return nil, err
		}
		text, err = patch.Apply(text)
		if err != nil {
			return nil, err
		}
		changed = nil
		err = json.Unmarshal(text, &changed)
		return changed, err
	case strings.Contains(kind, "merge-patch"):
		var patch object
		err := json.Unmarshal(body, &patch)
		merge(changed, patch)
		return changed, err
	default:
		changed = nil
		err := json.Unmarshal(body, &changed)
		return changed, err
	}
}

func merge(into, patch object) {
	for key, value := range patch {
		from, isObject := value.(object)
		to, wasObject := into[key].(object)
		switch {
		case value == nil:
			delete(into, key)
		case isObject && wasObject:
			merge(to, from)
		default:
			into[key] = value
		}
	}
}

func version(o object) string { return (&unstructured.Unstructured{Object: o}).GetResourceVersion() }

// store stores an object and tells the watches. An object that is being deleted
// goes with its last finalizer.
func (a *api) store(call request, o object) {
	kind := "MODIFIED"
	if a.prune != nil {
		a.prune(o)
	}
	a.version++
	u := &unstructured.Unstructured{Object: o}
	if u.GetUID() == "" {
		kind = "ADDED"
		u.SetUID(types.UID(fmt.Sprintf("uid-%d", a.version)))
		u.SetGeneration(1)
	}
	u.SetResourceVersion(strconv.Itoa(a.version))
	a.objects[call.path] = o
	if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 {
		kind = "DELETED"
		delete(a.objects, call.path)
	}
	a.send(call, kind, o)
}

func (a *api) send(call request, kind string, o object) {
	for events, of := range a.watches {
		if of.group == call.group && of.resource == call.resource && !a.hung[events] {
			events <- object{"type": kind, "object": runtime.DeepCopyJSON(o)}
		}
	}
}

// watch answers with the changes since a version, except deletions, and with
// all from now on.
func (a *api) watch(r *http.Request, call request) *http.Response {
	events := make(chan object, 1000)
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	for _, o := range a.list(call) {
		changed, _ := strconv.Atoi(version(o))
		if changed > since {
			events <- object{"type": "MODIFIED", "object": runtime.DeepCopyJSON(o)}
		}
	}
	a.watches[events] = call
	reader, writer := io.Pipe()
	go func() {
		for {
			select {
			case <-r.Context().Done():
				a.mu.Lock()
				delete(a.watches, events)
				a.mu.Unlock()
				_ = writer.CloseWithError(r.Context().Err())
				return
			case event := <-events:
				_ = json.NewEncoder(writer).Encode(event)
			}
		}
	}()
	out := answer(r, http.StatusOK, object{})
	out.Body = reader
	return out
}

// hang makes the watches of a resource get nothing more.
func (a *api) hang(resource string) {
	for events, of := range a.watches {
		a.hung[events] = a.hung[events] || of.resource == resource
	}
}

func (a *api) refuse(r *http.Request, code int, reason, message string) *http.Response {
	call := parse(r)
	return answer(r, code, object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code,
		"details": object{"group": call.group, "kind": call.resource, "name": call.name},
	})
}

func answer(r *http.Request, code int, body object) *http.Response {
	text, _ := json.Marshal(body)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text)), Request: r,
	}
}

// put stores an object as another program does.
func (a *api) put(t *testing.T, path string, o runtime.Object) {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	var stored object
	require.NoError(t, json.Unmarshal(text, &stored))
	parts := strings.Split(path, "/")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store(request{group: parts[0], resource: parts[2], path: path}, stored)
}

// read reads an object, and reports whether it is there.
func (a *api) read(t *testing.T, path string, into runtime.Object) bool {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	stored, found := a.objects[path]
	text, err := json.Marshal(stored)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
	return found
}

// delete asks for the deletion of an object, as another program does.
func (a *api) delete(t *testing.T, path string) {
	t.Helper()
	parts := strings.Split(path, "/")
	a.mu.Lock()
	defer a.mu.Unlock()
	o := runtime.DeepCopyJSON(a.objects[path])
	now := metav1.Now()
	(&unstructured.Unstructured{Object: o}).SetDeletionTimestamp(&now)
	a.store(request{group: parts[0], resource: parts[2], path: path}, o)
}

// remove makes an object vanish.
func (a *api) remove(t *testing.T, path string) {
	t.Helper()
	parts := strings.Split(path, "/")
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.objects[path]
	require.NotNil(t, o)
	a.version++
	delete(a.objects, path)
	gone := runtime.DeepCopyJSON(o)
	(&unstructured.Unstructured{Object: gone}).SetResourceVersion(strconv.Itoa(a.version))
	a.send(request{group: parts[0], resource: parts[2]}, "DELETED", gone)
}
