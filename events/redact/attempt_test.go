// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events/redact"
)

func TestAttempt_MasksOnlyWhatItKnows(t *testing.T) {
	value := []byte("plum orchard lane")
	text := "login with " + string(value) + " failed"
	many := map[string][]byte{}
	for i := range 1001 {
		many[fmt.Sprint(i)] = fmt.Appendf(nil, "a value %d", i)
	}
	for name, tc := range map[string]struct {
		reason string
		data   map[string][]byte
		err    error
		want   string
	}{
		"Read":       {"The value of the Secret is masked.", map[string][]byte{"password": value}, nil, "login with [redacted] failed"},
		"NoSecret":   {"There is no Secret, so there is nothing to mask.", nil, nil, text},
		"Unreadable": {"The text may quote a value that is not known.", nil, errors.New("the server hangs"), redact.Withheld},
		"TooMany":    {"So many values take too long.", many, nil, redact.Withheld},
	} {
		t.Run(name, func(t *testing.T) {
			var secrets redact.SecretValues
			reads := 0
			attempt := secrets.Begin(func(context.Context) (map[string][]byte, error) {
				reads++
				return tc.data, tc.err
			})
			defer attempt.Done()
			assert.Empty(t, attempt.Text(t.Context(), ""))
			assert.Zero(t, reads, "an empty text quotes nothing")
			assert.Equal(t, tc.want, attempt.Text(t.Context(), text), tc.reason)
			assert.Equal(t, tc.want, attempt.Error(t.Context(), errors.New(text)).Error(), tc.reason)
			data, err := attempt.Read(t.Context())
			assert.Equal(t, tc.data, data)
			require.ErrorIs(t, err, tc.err)
			assert.Equal(t, 1, reads, "an attempt reads once, also if that fails")
		})
	}
}

func TestAttempt_KeepsItsValuesUntilItIsDone(t *testing.T) {
	var secrets redact.SecretValues
	value := "plum orchard lane"
	attempt := secrets.Begin(func(context.Context) (map[string][]byte, error) {
		return map[string][]byte{"password": []byte(value)}, nil
	})
	_, err := attempt.Read(t.Context())
	require.NoError(t, err)
	crowd := func() {
		for i := range 2000 {
			secrets.Add(fmt.Appendf(nil, "a value of another run %d", i))
		}
	}
	crowd()
	assert.Equal(t, redact.Mask, secrets.Redact(value), "the values of other attempts do not push it out")
	attempt.Done()
	attempt.Done()
	assert.Equal(t, redact.Mask, secrets.Redact(value), "it counts as added last")
	crowd()
	assert.Equal(t, value, secrets.Redact(value))
}

func TestAttempt_ErrorKeepsItsKind(t *testing.T) {
	var secrets redact.SecretValues
	attempt := secrets.Begin(nil)
	require.NoError(t, attempt.Error(t.Context(), nil))
	err := attempt.Error(t.Context(), fmt.Errorf("password=%s\n%w", "hunter2hunter2", fs.ErrNotExist))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.EqualError(t, err, "password=[redacted] file does not exist")
	assert.LessOrEqual(t, len(attempt.Text(t.Context(), strings.Repeat("a word ", 1<<20))), 1024)
}

func TestAttempt_NilAndZeroHaveNoValues(t *testing.T) {
	for name, attempt := range map[string]*redact.Attempt{"nil": nil, "zero": {}} {
		data, err := attempt.Read(t.Context())
		require.NoError(t, err, name)
		assert.Nil(t, data, name)
		assert.Equal(t, "token=[redacted]", attempt.Text(t.Context(), "token="+"0a1b2c3d4e5f6071"), name)
		attempt.Done()
	}
}

func ExampleAttempt() {
	ctx := context.Background()
	var secrets redact.SecretValues
	attempt := secrets.Begin(func(context.Context) (map[string][]byte, error) {
		return map[string][]byte{"password": []byte("open sesame")}, nil // of the Secret that the object names
	})
	defer attempt.Done()
	err := errors.New("the agent: open sesame is not accepted")
	fmt.Println(attempt.Error(ctx, err))
	// Output: the agent: [redacted] is not accepted
}

func ExampleSecretValues_Begin() {
	ctx := context.Background()
	var secrets redact.SecretValues
	attempt := secrets.Begin(func(context.Context) (map[string][]byte, error) {
		return nil, errors.New("the API server does not answer")
	})
	defer attempt.Done()
	_, err := attempt.Read(ctx)
	fmt.Println(err)
	fmt.Println(attempt.Text(ctx, "admission webhook denied the request: open sesame"))
	// Output:
	// the API server does not answer
	// [the text is withheld: the values that it might quote cannot be read or are too many]
}
