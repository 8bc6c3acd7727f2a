// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/events/redact"
)

// loginReconciler uses the Secret of a run. The recorder has Secrets.Redact as
// its option Redact.
type loginReconciler struct {
	client.Client

	Secrets *redact.SecretValues
	login   func(password []byte) error
}

// logIn returns an error that has no value of the Secret.
func (r *loginReconciler) logIn(ctx context.Context, key client.ObjectKey) error {
	attempt := r.Secrets.Begin(func(ctx context.Context) (map[string][]byte, error) {
		var secret corev1.Secret
		err := r.Get(ctx, key, &secret)
		return secret.Data, client.IgnoreNotFound(err)
	})
	defer attempt.Done()
	data, err := attempt.Read(ctx)
	if err != nil {
		return err
	}
	return attempt.Error(ctx, r.login(data["password"]))
}
