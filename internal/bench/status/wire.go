// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/status"
)

// server is an API server of one object behind the clients' RoundTripper:
// requests are encoded, counted and answered without a network, so that the
// whole way is measured the same for all.
type server struct {
	mu    sync.Mutex
	body  []byte
	apply bool // merge patches into the body; if not, the body stays and costs nothing
	asked int64

	writer status.Writer
	client client.Client
}

// newServer makes a server and its clients. They have no rate limit, because
// they would only wait for it.
func newServer(stored *Run, apply bool) (*server, error) {
	body, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	s := &server{body: body, apply: apply}
	known := runtime.NewScheme()
	known.AddKnownTypeWithName(runKind, new(Run))
	metav1.AddToGroupVersion(known, group)
	config := &rest.Config{Host: "http://memory", Transport: s, QPS: -1}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(runKind, apimeta.RESTScopeNamespace)
	// Writes are requests. The manager's cache answers the Get that flux and
	// cluster-api do before they patch conditions.
	s.client, err = client.New(config, client.Options{
		Scheme: known, Mapper: mapper, Cache: &client.CacheOptions{Reader: cache{stored: bigRun()}},
	})
	if err != nil {
		return nil, err
	}
	config.APIPath, config.GroupVersion = "/apis", &group
	config.NegotiatedSerializer = serializer.NewCodecFactory(known).WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	// A generated clientset makes these very calls.
	runs := gentype.NewClient(
		"runs", c, runtime.NewParameterCodec(known), "ci", func() *Run { return new(Run) })
	s.writer = status.ForResource(func(string) *gentype.Client[*Run] { return runs })
	return s, nil
}

// requests is how many there were so far.
func (s *server) requests() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// object is the stored object.
func (s *server) object() (*Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := new(Run)
	return r, json.Unmarshal(s.body, r)
}

// RoundTrip answers every request with the object.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if r.Body != nil {
		if err := s.receive(r); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(s.body)), ContentLength: int64(len(s.body)),
	}, nil
}

// receive reads the body of a request, and applies a patch if apply is set.
func (s *server) receive(r *http.Request) error {
	patch, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if s.apply && r.Method == http.MethodPatch {
		s.body, err = jsonpatch.MergePatch(s.body, patch)
	}
	return err
}

// cache reads as a manager's informers do: it copies.
type cache struct {
	client.Reader // nil

	stored *Run
}

// Get copies the stored Run.
func (c cache) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if r, ok := obj.(*Run); ok {
		c.stored.DeepCopyInto(r)
	}
	return nil
}
