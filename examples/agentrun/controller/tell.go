// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// told is an error in words that anybody may read. What kind of error it is, its cause still says.
type told struct {
	words string
	cause error
}

func (t *told) Error() string { return t.words }
func (t *told) Unwrap() error { return t.cause }

// tell puts an error into such words. That nobody answered quotes nothing, and nobody would answer when asked for the Secret.
func (a *attempt) tell(ctx context.Context, cause error) error {
	if cause == nil {
		return nil
	}
	if _, already := errors.AsType[*told](cause); already {
		return cause
	}
	text := cause.Error()
	if unanswered(cause) {
		text = a.secrets.Redact(text)
	} else {
		text = a.words(ctx, text)
	}
	return &told{text, cause}
}

// withheld stands for a text that may quote a Secret which cannot be read, so that nobody knows what to mask.
const withheld = "[the text is withheld: the Secret in spec.secretRef cannot be read, and it might quote it]"

// words returns a text as it may be told. Before it asks for the run's Secret, if this attempt has not read it: that another one did is
// forgotten by a restart, and by package redact once many others were read.
func (a *attempt) words(ctx context.Context, text string) string {
	if a.run.Spec.SecretRef != nil && !a.read {
		if _, err := a.secret(ctx); err != nil && !absent(err) {
			return withheld
		}
	}
	return a.secrets.Redact(text)
}

// secret reads the run's Secret. What it holds is kept out of every event, message and line of the log. A read that is denied was denied
// before anybody looked at the Secret: that is told as it is, or nobody would know which right is missing.
func (a *attempt) secret(ctx context.Context) (*corev1.Secret, error) {
	secret, err := a.cluster.CoreV1().Secrets(a.run.Namespace).Get(ctx, a.run.Spec.SecretRef.Name, metav1.GetOptions{})
	a.read = err == nil || absent(err)
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
