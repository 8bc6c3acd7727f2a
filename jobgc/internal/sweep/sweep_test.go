// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/jobgc/internal/sweep"
)

func objects(n int) []*metav1.ObjectMeta {
	var out []*metav1.ObjectMeta
	for i := range n {
		out = append(out, &metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))})
	}
	return out
}

func TestLoop_WaitsAsLongAsItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		began := time.Now()
		var at []time.Duration
		sweep.Loop(ctx, func() time.Duration {
			at = append(at, time.Since(began))
			return time.Duration(len(at)) * time.Second
		})
		assert.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second}, at)
		assert.Equal(t, 9*time.Second, time.Since(began), "it ends with its context")
	})
}

func TestEach_GoesOnAfterFailures(t *testing.T) {
	failed := errors.New("a webhook says no")
	var acted []types.UID
	err := sweep.Each(t.Context(), &sweep.Turns{}, objects(9), 8, func(o *metav1.ObjectMeta) error {
		acted = append(acted, o.UID)
		if o.UID == "0" {
			return nil
		}
		return fmt.Errorf("%s: %w", o.UID, failed)
	})
	require.ErrorIs(t, err, failed)
	assert.Len(t, acted, 8)
	assert.Equal(t, "1: a webhook says no\n2: a webhook says no\n3: a webhook says no\n"+
		"4: a webhook says no\n5: a webhook says no\nand 2 more", err.Error())
}

func TestEach_StopsWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	acted := 0
	err := sweep.Each(ctx, &sweep.Turns{}, objects(3), 3, func(*metav1.ObjectMeta) error {
		acted++
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, acted)
}
