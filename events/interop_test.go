// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"

	"github.com/proompteng/controllerkit/events"
)

// The package implements these interfaces without importing their packages.
var (
	_ clientevents.EventRecorder = (*events.Recorder)(nil)
	_ record.EventRecorder       = (*events.LegacyRecorder)(nil)
	_ resourcelock.EventRecorder = (*events.LegacyRecorder)(nil)

	// The method values of client-go's clients make a sink.
	_ = func(cs kubernetes.Interface) *events.Sink {
		return events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
	}
	_ = func(cs *kubernetes.Clientset) *events.Sink { return events.NewCoreSink(cs.CoreV1().Events) }

	// A scheme finds kinds.
	_ = events.Options{Scheme: runtime.NewScheme()}

	// A func(error) bool option of another package takes IsTerminal.
	_ func(error) bool = events.IsTerminal
)
