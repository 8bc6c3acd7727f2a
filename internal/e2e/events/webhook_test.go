// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// deadWebhook installs a webhook for the Events of a namespace whose service
// refuses connections, so that the API server refuses these Events.
func (s *stage) deadWebhook(t *testing.T) (remove func()) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "https://" + listener.Addr().String() + "/"
	require.NoError(t, listener.Close())
	fail, none, seconds := admissionv1.Fail, admissionv1.SideEffectClassNone, int32(2)
	hooks := s.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err = hooks.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:              "events.example.com",
			ClientConfig:      admissionv1.WebhookClientConfig{URL: &url},
			FailurePolicy:     &fail,
			SideEffects:       &none,
			TimeoutSeconds:    &seconds,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.namespace}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{"", "events.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"events"}},
			}},
			AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	remove = func() {
		_ = hooks.Delete(context.WithoutCancel(t.Context()), s.namespace, metav1.DeleteOptions{})
	}
	t.Cleanup(remove)
	suite.Eventually(t, "the webhook fails", func(ctx context.Context) bool {
		ev := s.valid()
		ev.Name = fmt.Sprint("probe.", time.Now().UnixNano())
		_, err := s.kube.EventsV1().Events(s.namespace).Create(ctx, ev, metav1.CreateOptions{})
		return err != nil
	})
	return remove
}

// TestADeadWebhook_DelaysNoOtherNamespace: and the refused Events are written
// after the webhook is removed.
//
//req:shows E6
func TestADeadWebhook_DelaysNoOtherNamespace(t *testing.T) {
	t.Parallel()
	const bad, good = 50, 20
	dead, alive := newStage(t, plane), newStage(t, plane)
	remove := dead.deadWebhook(t)
	r := record(t, plane.Config(), bothGroups, events.Options{})
	for i := range bad {
		failed(r.Recorder, dead.reference(fmt.Sprintf("run-%02d", i)))
	}
	for round, after := range []time.Duration{0, 10 * time.Second} {
		suite.Wait(t.Context(), after)
		began := time.Now()
		for i := range good {
			failed(r.Recorder, alive.reference(fmt.Sprintf("run-%d-%02d", round, i)))
		}
		suite.Eventually(t, "the healthy ones are written", func(context.Context) bool { return len(alive.stored(t)) == (round+1)*good })
		took := time.Since(began)
		t.Logf("%d healthy Events took %v", good, took)
		assert.Less(t, took, 30*time.Second, "in virtual time it is at most 3 s")
	}
	// An Event may be stored before the recorder has the answer.
	suite.Eventually(t, "the recorder knows", func(context.Context) bool { return r.Stats().Written >= 2*good })
	assert.Equal(t, int64(2*good), r.Stats().Written, "and no other is")
	remove()
	r.flushed(t)
	assert.Len(t, dead.stored(t), bad)
	r.assertAccounts(t, bad+2*good)
	require.NoError(t, r.stop())
}
