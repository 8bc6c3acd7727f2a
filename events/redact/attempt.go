// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"context"
	"maps"
	"slices"
)

// Withheld replaces a text that may quote values which an [Attempt] could not
// read, or which are too many to mask.
const Withheld = "[the text is withheld: the values that it might quote cannot be read or are too many]"

// mostValues is how many values an Attempt masks. Each takes time in each text.
const mostValues = 1000

// Attempt is one reconcile of an object that names a Secret. It reads the
// Secret at most once, when a value or a text needs it. Until Done, its values
// are masked in all texts that the SecretValues redacts, also if other
// attempts add many values. Make it with [SecretValues.Begin]. A nil or zero
// Attempt has no values, and masks with the rules of [Text]. An Attempt is not
// safe for concurrent use.
type Attempt struct {
	values *SecretValues
	read   func(ctx context.Context) (map[string][]byte, error)
	asked  bool // read was called; data and failed are its results
	data   map[string][]byte
	failed error
	pinned []string
}

// Begin returns an Attempt and reads nothing. The function read returns the
// data of the Secret, or nil and no error if there is none. A nil read means
// that the object names no Secret.
func (v *SecretValues) Begin(read func(ctx context.Context) (map[string][]byte, error)) *Attempt {
	return &Attempt{values: v, read: read}
}

// Read returns the data of the Secret, or nil if there is none. It calls read
// the first time, and later returns the same result, also an error.
func (a *Attempt) Read(ctx context.Context) (map[string][]byte, error) {
	if a == nil || a.read == nil {
		return nil, nil //nolint:nilnil // there is no Secret
	}
	if !a.asked {
		a.asked = true
		a.data, a.failed = a.read(ctx)
		if len(a.data) <= mostValues {
			a.pinned = a.values.pinAll(slices.Collect(maps.Values(a.data)))
		}
	}
	return a.data, a.failed
}

// Text returns a text that every user may read: one line of at most 1024 bytes,
// as [Note] makes it, without the values of the Secret and without other
// credentials. If the Secret cannot be read, or has more than 1000 values, the
// result is [Withheld]. Text does not read the Secret for an empty text.
func (a *Attempt) Text(ctx context.Context, text string) string {
	if text == "" {
		return ""
	}
	data, err := a.Read(ctx)
	if err != nil || len(data) > mostValues {
		return Withheld
	}
	var values *SecretValues
	if a != nil {
		values = a.values
	}
	return Note(values.Redact(text), values.Redact)
}

// Error returns an error with the text that Text makes. It wraps err, so that
// errors.Is and errors.As find its kind. Do not print what it wraps. It
// returns nil for nil.
func (a *Attempt) Error(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return &maskedError{a.Text(ctx, err.Error()), err}
}

// Done ends the attempt: call it when all texts are written. The SecretValues
// then keeps the values as [SecretValues.Add] does. Calling Done again does
// nothing.
func (a *Attempt) Done() {
	if a == nil {
		return
	}
	a.values.unpinAll(a.pinned)
	a.pinned = nil
}

// maskedError is an error with another text.
type maskedError struct {
	text  string
	cause error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.cause }
