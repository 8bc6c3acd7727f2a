// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package conflict_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/internal/conflict"
)

// overtaken is an error as package status returns it.
type overtaken struct{}

func (overtaken) Error() string  { return "the object has changed" }
func (overtaken) Reason() string { return "Conflict" }

func TestOnly(t *testing.T) {
	one := apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("modified"))
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Nil":        {"There is no error.", nil, false},
		"TypedNil":   {"There is none in it.", (*apierrors.StatusError)(nil), false},
		"Conflict":   {"As the API server answers.", one, true},
		"Wrapped":    {"As controllers return it.", fmt.Errorf("update: %w", one), true},
		"Reason":     {"As package status says it.", fmt.Errorf("commit: %w", overtaken{}), true},
		"Joined":     {"All of them are.", errors.Join(one, overtaken{}), true},
		"WithOne":    {"Another one counts.", errors.Join(one, broken), false},
		"Deep":       {"However deep.", fmt.Errorf("all: %w", errors.Join(one, fmt.Errorf("one: %w", broken))), false},
		"Exists":     {"It does not pass by itself.", apierrors.NewAlreadyExists(corev1.Resource("pods"), "p"), false},
		"OtherError": {"It says something else.", broken, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, conflict.Only(tc.err), tc.reason)
		})
	}
}
