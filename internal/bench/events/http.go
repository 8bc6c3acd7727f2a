// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typedeventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	toolsevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"

	"github.com/proompteng/controllerkit/events"
)

// sinks are the clients of the recorders.
type sinks struct {
	ours   *events.Sink
	record record.EventSink
	events toolsevents.EventSink
}

// sinks returns real clients, or fakes if HTTP would only add its own cost.
func (s *store) sinks() (sinks, error) {
	if !s.http {
		ours := events.NewSink(func(string) ourEvents { return ourEvents{s} }, func(string) ourCore { return ourCore{s} })
		return sinks{ours, recordSink{s}, eventsSink{s}}, nil
	}
	core, err1 := typedcorev1.NewForConfig(s.config())
	group, err2 := typedeventsv1.NewForConfig(s.config())
	return sinks{
		ours:   events.NewSink(group.Events, core.Events),
		record: &typedcorev1.EventSinkImpl{Interface: core.Events("")},
		events: &toolsevents.EventSinkImpl{Interface: group},
	}, errors.Join(err1, err2)
}

// config is for clients without a rate limit, because the recorder is measured.
func (s *store) config() *rest.Config {
	return &rest.Config{Host: "http://memory", Transport: transport{s}, QPS: -1}
}

// transport answers requests for Events from the store, without a connection.
type transport struct{ store *store }

// RoundTrip answers a POST with the posted Event and a PATCH with an empty
// Event. It answers a refusal of the store with a Status, like an API server,
// and otherwise without a response.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	group := coreGroup
	if strings.HasPrefix(r.URL.Path, "/apis/"+newGroup+"/") {
		group = newGroup
	}
	header := http.Header{"Content-Type": r.Header["Content-Type"]}
	if r.Method == http.MethodPost {
		var object string
		if object, err = regarding(body); err == nil {
			err = t.store.create(group, object)
		}
	} else {
		header.Set("Content-Type", runtime.ContentTypeJSON)
		body = []byte(`{"apiVersion":"` + strings.TrimPrefix(group+"/v1", "/") + `","kind":"Event"}`)
		err = t.store.patch(group)
	}
	code := http.StatusOK
	if refused, ok := errors.AsType[*apierrors.StatusError](err); ok {
		status := refused.ErrStatus
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		code = int(status.Code)
		header.Set("Content-Type", runtime.ContentTypeJSON)
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
		}
		body, err = json.Marshal(status)
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// regarding returns the name of the object of a posted Event.
func regarding(body []byte) (string, error) {
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	switch ev := decoded.(type) {
	case *corev1.Event:
		return ev.InvolvedObject.Name, err
	case *eventsv1.Event:
		return ev.Regarding.Name, err
	}
	return "", fmt.Errorf("a %T was posted: %w", decoded, err)
}
