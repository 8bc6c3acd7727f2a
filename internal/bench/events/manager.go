// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// byManager is the recorder of controller-runtime's manager: tools/events with
// a lock, which writes by HTTP. Repeats send no requests, so it differs from
// the others only in the lock.
var byManager = way{ctrlRuntime, func(_ context.Context, s *store) (recorder, error) {
	log.SetLogger(logr.Discard())
	mgr, err := manager.New(s.config(), manager.Options{
		Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
			return apimeta.NewDefaultRESTMapper(nil), nil
		},
	})
	if err != nil {
		return recorder{}, err
	}
	rec := mgr.GetEventRecorder(controller)
	fail := func(o *corev1.ConfigMap, note string) {
		rec.Eventf(o, nil, corev1.EventTypeWarning, reason, "Reconcile", note)
	}
	return recorder{fail: fail, stop: func() {}, drain: drainSpawning(fail)}, nil
}}
