// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
)

// told is an error whose text every user may read. It has the kind of its
// cause.
type told struct {
	words string
	cause error
}

func (t *told) Error() string { return t.words }
func (t *told) Unwrap() error { return t.cause }

// tell returns such an error. If no server answered, the error quotes nothing,
// and a request for the Secret would not be answered either.
func (a *attempt) tell(ctx context.Context, cause error) error {
	if _, already := errors.AsType[*told](cause); already {
		return cause
	}
	if unanswered(cause) {
		return &told{a.secrets.Redact(cause.Error()), cause}
	}
	return &told{a.words(ctx, cause.Error()), cause}
}

// withheld replaces a text that may quote a Secret that cannot be read, because
// the values to mask are unknown.
const withheld = "[the text is withheld: the Secret in spec.secretRef cannot be read, and it might quote it]"

// words returns a text with secrets masked. If this attempt has not read the
// run's Secret, words reads it first: a restart forgets the values of earlier
// attempts, and package redact forgets them after many others.
func (a *attempt) words(ctx context.Context, text string) string {
	if a.run.Spec.SecretRef != nil && !a.read {
		if _, err := a.secret(ctx); err != nil && !isMissingSecret(err) {
			return withheld
		}
	}
	return a.secrets.Redact(text)
}

// haveSecret returns an error if the Secret that the run names, or its key,
// does not exist yet.
func (a *attempt) haveSecret(ctx context.Context) error {
	ref := a.run.Spec.SecretRef
	if ref == nil {
		return nil
	}
	secret, err := a.secret(ctx)
	switch {
	case isMissingSecret(err):
		return &failure{events.MissingSecret, fmt.Sprintf("spec.secretRef: Secret %q does not exist yet", ref.Name)}
	case err == nil && len(secret.Data[ref.Key]) == 0:
		return &failure{events.MissingSecret, fmt.Sprintf("spec.secretRef: Secret %q has no key %q yet", ref.Name, ref.Key)}
	}
	return err
}

// secret reads the run's Secret and registers its values, so that no Event,
// message or log line has them. A denied read reveals nothing about the Secret,
// so its error names the missing right.
func (a *attempt) secret(ctx context.Context) (*corev1.Secret, error) {
	secret, err := a.cluster.CoreV1().Secrets(a.run.Namespace).Get(ctx, a.run.Spec.SecretRef.Name, metav1.GetOptions{})
	a.read = err == nil || isMissingSecret(err)
	if apierrors.IsForbidden(err) {
		return nil, &told{a.secrets.Redact(err.Error()), err}
	}
	if err != nil {
		return nil, err
	}
	for _, v := range secret.Data {
		a.secrets.Add(v)
	}
	return secret, nil
}
