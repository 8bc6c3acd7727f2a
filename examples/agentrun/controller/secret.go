// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// secretOf returns a function that reads the Secret of a run live, or nil if
// the run names none. The controller does not cache Secrets.
func (r *Reconciler) secretOf(run *v1alpha1.AgentRun) func(context.Context) (map[string][]byte, error) {
	ref := run.Spec.SecretRef
	if ref == nil {
		return nil
	}
	return func(ctx context.Context) (map[string][]byte, error) {
		secret := new(corev1.Secret)
		err := r.live.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: ref.Name}, secret)
		if reasonOf(err) == events.MissingSecret { // the 404 of a proxy is not
			return nil, nil
		}
		if err == nil && secret.Data == nil {
			return map[string][]byte{}, nil // it exists
		}
		return secret.Data, err
	}
}

// checkSecret returns an error if a run cannot start without its Secret.
func checkSecret(ctx context.Context, run *v1alpha1.AgentRun, secret *redact.Attempt) error {
	ref := run.Spec.SecretRef
	if ref == nil {
		return nil
	}
	data, err := secret.Read(ctx)
	switch {
	case err != nil:
		return err
	case data == nil:
		message := fmt.Sprintf("spec.secretRef: Secret %q does not exist yet", ref.Name)
		return &failure{events.MissingSecret, message}
	case len(data[ref.Key]) == 0:
		message := fmt.Sprintf("spec.secretRef: Secret %q has no key %q yet", ref.Name, ref.Key)
		return &failure{events.MissingSecret, message}
	}
	return nil
}
