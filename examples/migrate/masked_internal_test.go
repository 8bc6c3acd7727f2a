// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/proompteng/controllerkit/events/redact"
)

func TestLogIn_MasksTheValuesOfTheSecret(t *testing.T) {
	key := client.ObjectKey{Namespace: "default", Name: "login"}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Data:       map[string][]byte{"password": []byte("plum orchard lane")},
	}
	down := errors.New("the API server does not answer")
	r := &loginReconciler{
		Client:  fake.NewClientBuilder().WithObjects(secret).Build(),
		Secrets: new(redact.SecretValues),
		login:   func(password []byte) error { return fmt.Errorf("%s is not accepted", password) },
	}
	require.EqualError(t, r.logIn(t.Context(), key), "[redacted] is not accepted")
	r.Client = interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		},
	})
	require.ErrorIs(t, r.logIn(t.Context(), key), down)
}
