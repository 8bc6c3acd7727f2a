// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	core "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// secretsOnly is a cluster whose tests read one Secret and nothing more.
type secretsOnly struct {
	kubernetes.Interface
	core.CoreV1Interface
	core.SecretInterface

	get func() (*corev1.Secret, error)
}

func (s *secretsOnly) CoreV1() core.CoreV1Interface        { return s }
func (s *secretsOnly) Secrets(string) core.SecretInterface { return s }
func (s *secretsOnly) Get(context.Context, string, metav1.GetOptions) (*corev1.Secret, error) {
	return s.get()
}

func TestWordsNeverQuoteTheSecret(t *testing.T) {
	const value = "canary-5f1d7c2e9b"
	found := &corev1.Secret{Data: map[string][]byte{"token": []byte(value)}}
	tests := map[string]struct {
		reason string
		ref    bool
		read   bool // before, in the same attempt
		secret *corev1.Secret
		err    error
		want   string
		asked  int
	}{
		"AfterARestart": {"This process has not read it before.", true, false, found, nil, "it says [redacted]", 1},
		"ReadBefore":    {"One read is enough for an attempt.", true, true, nil, nil, "it says " + value, 0},
		"None":          {"There is nothing to quote.", false, false, nil, nil, "it says " + value, 0},
		"Gone":          {"No Secret has its value now.", true, false, nil, apierrors.NewNotFound(corev1.Resource("secrets"), "s"), "it says " + value, 1},
		"Proxy":         {"It does not know the Secret.", true, false, nil, proxied("secrets"), withheld, 1},
		"Unreadable":    {"An unknown value cannot be masked.", true, false, nil, errors.New("denied to " + value), withheld, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			asked := 0
			c := &Controller{secrets: new(redact.SecretValues), cluster: &secretsOnly{get: func() (*corev1.Secret, error) {
				asked++
				return tc.secret, tc.err
			}}}
			a := &attempt{Controller: c, run: newRun("nightly", "uid-1"), read: tc.read}
			if tc.ref {
				a.run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "s", Key: "token"}
			}
			assert.Equal(t, tc.want, a.maskedText(t.Context(), "it says "+value), tc.reason)
			_ = a.maskedText(t.Context(), "more")
			if tc.want != withheld {
				assert.Equal(t, tc.asked, asked, tc.reason)
			}
		})
	}
}

// proxied is a 404 that no API server wrote.
func proxied(resource string) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", corev1.Resource(resource), "s", "404 page not found", 0, true)
}

func TestWhyTheSecretIsNotReadIsTold(t *testing.T) {
	const value = "canary-5f1d7c2e9b"
	denied := errors.New(`User "agentrun" cannot get resource "secrets" in API group "" in the namespace "default"`)
	tests := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Denied": {"It was denied before the Secret was looked at: the right that is missing is named.", apierrors.NewForbidden(corev1.Resource("secrets"), "s", denied), denied.Error()},
		"Proxy":  {"It does not say that there is none.", proxied("secrets"), withheld},
		"Broken": {"The failed webhook may have read any Secret.", apierrors.NewInternalError(errors.New("found " + value)), withheld},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := &Controller{secrets: new(redact.SecretValues), cluster: &secretsOnly{get: func() (*corev1.Secret, error) { return nil, tc.err }}}
			a := &attempt{Controller: c, run: newRun("nightly", "uid-1")}
			a.run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "s", Key: "token"}
			err := a.masked(t.Context(), a.haveSecret(t.Context()))
			require.ErrorContains(t, err, tc.want, tc.reason)
			assert.NotContains(t, err.Error(), value)
			assert.ErrorIs(t, err, tc.err, "what kind of error it is, is still known")
		})
	}
}
