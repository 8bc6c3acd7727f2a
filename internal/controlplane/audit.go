// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is a request that the API server answered, as Options.AuditPolicy
// logs it.
type Request struct {
	Verb string
	User struct{ Username string }
	At   metav1.MicroTime `json:"requestReceivedTimestamp"`
	For  struct {
		APIGroup, Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	Response struct{ Code int } `json:"responseStatus"`
	Body     json.RawMessage    `json:"requestObject"` // from level Request on
}

// Kind is the verb and the resource: "patch jobs/status".
func (r Request) Kind() string {
	return strings.TrimSuffix(r.Verb+" "+r.For.Resource+"/"+r.For.Subresource, "/")
}

// Writes reports whether the request changes an object.
func (r Request) Writes() bool {
	return r.Verb != "get" && r.Verb != "list" && r.Verb != "watch"
}

// Done reports whether the request succeeded.
func (r Request) Done() bool { return r.Response.Code < 300 }

// Requests returns the requests that the API server has logged so far, in the
// order of their answers. A line that is not complete is left out: the last
// one, and the last one before the server was killed.
func (cp *ControlPlane) Requests() (all []Request, err error) {
	log, err := os.ReadFile(filepath.Join(cp.dir, "audit.log"))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(log) {
		var r Request
		if json.Unmarshal(line, &r) == nil {
			all = append(all, r)
		}
	}
	return all, nil
}
