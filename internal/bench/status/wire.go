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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// server is an API server of one object behind the clients' RoundTripper:
// requests are encoded, counted and answered without a network, so that the
// whole way is measured the same for all.
type server struct {
	mu    sync.Mutex
	body  []byte
	apply bool // merge patches into the body; if not, the body stays and costs nothing
	asked int64
}

func newServer(stored *Run, apply bool) (*server, error) {
	body, err := json.Marshal(stored)
	return &server{body: body, apply: apply}, err
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

// config configures clients of the server. They have no rate limit, because
// they would only wait for it.
func (s *server) config() *rest.Config {
	return &rest.Config{Host: "http://memory", Transport: s, QPS: -1}
}

// typed is a generated clientset's client of Runs: client-gen writes these very
// calls.
func (s *server) typed() (*gentype.Client[*Run], error) {
	sc := scheme()
	cfg := s.config()
	cfg.APIPath, cfg.GroupVersion = "/apis", &group
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(sc).WithoutConversion()
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	codec := runtime.NewParameterCodec(sc)
	return gentype.NewClient(runs.Resource, c, codec, "ci", func() *Run { return new(Run) }), nil
}

// dynamic is client-go's client without types.
//
//nolint:ireturn // it has no concrete type
func (s *server) dynamic() (dynamic.ResourceInterface, error) {
	c, err := dynamic.NewForConfig(s.config())
	if err != nil {
		return nil, err
	}
	return c.Resource(runs).Namespace("ci"), nil
}

// controllerRuntime is the client that a manager makes: writes are requests,
// and the Get that flux and cluster-api do before they patch conditions is
// answered by the manager's cache.
//
//nolint:ireturn // it has no concrete type
func (s *server) controllerRuntime() (client.Client, error) {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(runKind, apimeta.RESTScopeNamespace)
	return client.New(s.config(), client.Options{
		Scheme: scheme(), Mapper: mapper, Cache: &client.CacheOptions{Reader: cache{stored: bigRun()}},
	})
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

// scheme knows Run and what every group has.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(runKind, &Run{})
	metav1.AddToGroupVersion(s, group)
	return s
}
