// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/proompteng/controllerkit/events"
)

const controller = "agents.example.com/agentrun"

// start runs a Recorder on s until the test's end or until stop is called,
// which returns when RunWith has returned.
func start(t *testing.T, s *server, o events.Options) (rec *events.Recorder, stop func() error) {
	t.Helper()
	rec, err := events.New(s.sink(), controller, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.Empty(t, s.invalid) })
	return rec, run(t, rec)
}

func run(t *testing.T, rec *events.Recorder) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rec.RunWith(ctx, untilEnd) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// untilEnd is a controller that ends with its context.
func untilEnd(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// object returns a ConfigMap in place of any object. Its uid is made from its
// name.
func object(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "runs", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"},
	}
}

// validate notes what an API server refuses of a new Event: k8s.io/kubernetes
// pkg/apis/core/validation/events.go.
func (s *server) validate(ev *eventsv1.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	check := func(ok bool, field string, value any) {
		if !ok {
			s.invalid = append(s.invalid, fmt.Sprintf("%s: %v", field, value))
		}
	}
	check(len(validation.IsDNS1123Subdomain(ev.Name)) == 0, "metadata.name", ev.Name)
	check(ev.Regarding.Namespace != "" || ev.Namespace == "default" || ev.Namespace == "kube-system", "metadata.namespace", ev.Namespace)
	check(!ev.EventTime.IsZero(), "eventTime", ev.EventTime)
	check(ev.Type == "Normal" || ev.Type == "Warning", "type", ev.Type)
	check(len(validation.IsQualifiedName(ev.ReportingController)) == 0, "reportingController", ev.ReportingController)
	for field, v := range map[string]string{"reportingInstance": ev.ReportingInstance, "action": ev.Action, "reason": ev.Reason} {
		check(v != "" && len(v) <= 128, field, v)
	}
	check(len(ev.Note) <= 1024, "note", len(ev.Note))
	check(utf8.ValidString(ev.Note), "note", ev.Note)
	check(ev.Series == nil || ev.Series.Count >= 2 && !ev.Series.LastObservedTime.IsZero(), "series", ev.Series)
	check(ev.Series == nil || !ev.Series.LastObservedTime.Time.Before(ev.EventTime.Time), "series.lastObservedTime", ev.Series)
}
