// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
)

// maskedError is an error whose text every user may read: it is short, and has
// no secret. It has the kind of its cause.
type maskedError struct {
	text  string
	cause error
}

func (t *maskedError) Error() string { return t.text }
func (t *maskedError) Unwrap() error { return t.cause }

// masked returns such an error. If no server answered, a request for the Secret
// would not be answered either. Then the text is that of the last request
// alone: an error around it may quote an earlier answer.
func (a *attempt) masked(ctx context.Context, cause error) error {
	switch cause.(type) { //nolint:errorlint // an error around one of these may quote more
	case nil, *maskedError:
		return cause
	case *failure: // the text is of this controller
		return &maskedError{a.mask(cause.Error()), cause}
	}
	if unanswered(cause) && !a.knowsSecret() {
		return &maskedError{a.mask(lastRequest(cause)), cause}
	}
	return &maskedError{a.maskedText(ctx, cause.Error()), cause}
}

// withheld replaces a text that may quote a Secret whose values are unknown or
// too many to mask.
const withheld = "[the text is withheld: the Secret in spec.secretRef cannot be read or has too many keys, " +
	"and it might quote it]"

// mostValues is how many values of a Secret an attempt masks. Each takes time.
const mostValues = 1000

// maskedText returns a text with secrets masked. If this attempt has not read
// the run's Secret, maskedText reads it first: a restart forgets the values of
// earlier attempts.
func (a *attempt) maskedText(ctx context.Context, text string) string {
	if !a.knowsSecret() {
		_, _ = a.secret(ctx)
	}
	if !a.knowsSecret() {
		return withheld
	}
	return a.mask(text)
}

// knowsSecret reports whether this attempt knows all values that a text about
// the run may quote.
func (a *attempt) knowsSecret() bool { return a.run.Spec.SecretRef == nil || a.read }

// mask returns text in one line of at most 1 KiB, with secrets masked wherever
// they are in it. An answer of the API server may have megabytes, and etcd
// refuses a status that quotes it.
func (c *Controller) mask(text string) string {
	return redact.Note(c.secrets.Redact(text), c.secrets.Redact)
}

// unpin lets the set that all runs share forget the values of this attempt, in
// time. The texts that quote them are written.
func (a *attempt) unpin() {
	for _, release := range a.pins {
		release()
	}
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
		message := fmt.Sprintf("spec.secretRef: Secret %q does not exist yet", ref.Name)
		return &failure{events.MissingSecret, message}
	case err == nil && len(secret.Data[ref.Key]) == 0:
		message := fmt.Sprintf("spec.secretRef: Secret %q has no key %q yet", ref.Name, ref.Key)
		return &failure{events.MissingSecret, message}
	}
	return err
}

// secret reads the run's Secret. It pins the values in the set that all runs
// share until the attempt ends, so that no Event, message or log line has them,
// and the Secrets of other runs do not push them out. A denied read reveals
// nothing about the Secret, so its error names the missing right.
func (a *attempt) secret(ctx context.Context) (*corev1.Secret, error) {
	secrets := a.cluster.CoreV1().Secrets(a.run.Namespace)
	secret, err := secrets.Get(ctx, a.run.Spec.SecretRef.Name, metav1.GetOptions{})
	a.read = isMissingSecret(err)
	if apierrors.IsForbidden(err) {
		return nil, &maskedError{a.mask(err.Error()), err}
	}
	if err != nil || len(secret.Data) > mostValues {
		return secret, err
	}
	a.read = true
	a.pins = append(a.pins, a.secrets.Pin(slices.Collect(maps.Values(secret.Data))...))
	return secret, nil
}
