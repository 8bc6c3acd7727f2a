// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/crd"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/rules"
)

// The packages do not import one another. A function of one package fits a
// field of another without an adapter, and client-go's types fit where a
// package needs one.
var (
	m       *metrics.Controller
	secrets *redact.SecretValues
	_       = status.Writer{OnCommit: m.StatusWrites()}
	_       = events.Options{OnResult: m.Events(), Redact: secrets.Redact}
	_       = metrics.Options{IsTerminal: events.IsTerminal}

	_ clientevents.EventRecorder = (*events.Recorder)(nil)
	_ record.EventRecorder       = (*events.LegacyRecorder)(nil)
)

// resultOf returns the result that metrics count for a reconcile with an error.
func resultOf(t *testing.T, failure error, isTerminal func(error) bool) string {
	t.Helper()
	endpoint, err := prom.New(prom.Options{})
	require.NoError(t, err)
	m, err := metrics.New(endpoint, metrics.Options{IsTerminal: isTerminal})
	require.NoError(t, err)
	_, done := m.Controller("c").Begin(t.Context(), "a")
	done(&failure, nil)
	page := httptest.NewRecorder()
	endpoint.ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	counted := regexp.MustCompile(`controller_reconciles_total\{controller="c",result="(\w+)"\} 1`)
	found := counted.FindStringSubmatch(page.Body.String())
	require.Len(t, found, 2)
	return found[1]
}

// TestClassifyAgrees: what events call terminal, metrics count as terminal, and
// nothing else; what an error says of itself counts for both, and neither takes
// the end of a context for terminal.
func TestClassifyAgrees(t *testing.T) {
	secret, deployment := corev1.Resource("secrets"), appsv1.Resource("deployments")
	for name, err := range map[string]error{
		"plain":     errors.New("plain"),
		"invalid":   apierrors.NewInvalid(v1alpha1.GroupVersion().WithKind("AgentRun").GroupKind(), "x", nil),
		"forbidden": apierrors.NewForbidden(secret, "x", nil),
		"missing":   apierrors.NewNotFound(secret, "x"),
		"wrapped":   fmt.Errorf("while reading: %w", apierrors.NewNotFound(deployment, "x")),
		"conflict":  apierrors.NewConflict(deployment, "x", nil),
		"throttled": apierrors.NewTooManyRequests("slow down", 1),
		"internal":  apierrors.NewInternalError(errors.New("x")),
		"own":       terminal(true),
		"retry it":  errors.Join(terminal(false), apierrors.NewForbidden(secret, "x", nil)),
		"joined":    errors.Join(errors.New("plain"), apierrors.NewForbidden(secret, "x", nil)),
		"canceled":  fmt.Errorf("while reading: %w", context.Canceled),
		"too late":  fmt.Errorf("while reading: %w", context.DeadlineExceeded),
		"both":      errors.Join(context.DeadlineExceeded, terminal(true)),
	} {
		_, want := events.Classify(err)
		if decided := new(interface{ Terminal() bool }); errors.As(err, decided) {
			assert.Equal(t, want, resultOf(t, err, nil) == "terminal_error", name)
			assert.Equal(t, want, resultOf(t, err, func(error) bool { return !want }) == "terminal_error", name)
		}
		result := resultOf(t, err, events.IsTerminal)
		assert.Equal(t, want, result == "terminal_error", name)
		assert.Equal(t, errors.Is(err, context.Canceled), result == "canceled", "%s: a cancelled reconcile is not a failure", name)
	}
}

type terminal bool

func (terminal) Error() string    { return "terminal" }
func (t terminal) Terminal() bool { return bool(t) }

// TestOvertakenIsAConflict: if another client wrote first, the Event and the
// label have the reason of a 409, not InternalError.
func TestOvertakenIsAConflict(t *testing.T) {
	for _, err := range []error{status.ErrFieldConflict, status.ErrReplaced, status.ErrSuperseded, status.ErrStaleRead} {
		reason, terminal := events.Classify(fmt.Errorf("commit: %w", err))
		assert.Equal(t, events.Conflict, reason, err)
		assert.False(t, terminal, err)
		assert.Equal(t, "error", resultOf(t, fmt.Errorf("commit: %w", err), events.IsTerminal), "a retry helps")
		require.ErrorIs(t, fmt.Errorf("commit: %w", err), err)
	}
	require.NotErrorIs(t, status.ErrFieldConflict, status.ErrReplaced)
}

// TestTheCRDCarriesTheContract: controller-gen takes the rules of package
// status from the markers.
func TestTheCRDCarriesTheContract(t *testing.T) {
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Rules []rules.Rule `json:"x-kubernetes-validations"`
					}
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(crd.YAML(), &definition))
	require.Len(t, definition.Spec.Versions, 1)
	assert.Equal(t, rules.For(status.FieldNames{}), definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Rules)
}
