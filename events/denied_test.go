// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

// TestRefusal_OfTwoBothAreNamed: either permission is enough.
func TestRefusal_OfTwoBothAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.group == "" {
				return apierrors.NewForbidden(corev1.Resource("events"), "", errors.New("no role grants it"))
			}
			return groupAbsent()
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Minute)
		_ = stop()
		assert.Equal(t, map[string]int64{events.LostForbidden: 1}, rec.Stats().Lost)
		assert.Contains(t, log.String(), "could not find the requested resource")
		assert.Contains(t, log.String(), "no role grants it")
	})
}

// TestStop_CountsWhatWaitsForADeniedNamespace as forbidden too, though no
// request was made about most objects.
func TestStop_CountsWhatWaitsForADeniedNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return notGranted() }}
		rec, stop := start(t, s, events.Options{})
		for _, o := range objects(100) {
			rec.Failure(o, errAway)
		}
		time.Sleep(time.Minute)
		require.NoError(t, stop())
		assert.Equal(t, map[string]int64{events.LostForbidden: 100}, rec.Stats().Lost)
		assertAccounts(t, rec)
	})
}
