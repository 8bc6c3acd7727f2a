// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

// TestFlakyServer_LosesNothing: four of five requests fail, in one namespace
// and in ten.
func TestFlakyServer_LosesNothing(t *testing.T) {
	for name, failure := range map[string]error{
		"503":          unavailable(),
		"429":          apierrors.NewTooManyRequestsError("limit"),
		"500":          apierrors.NewInternalError(errors.New("webhook")),
		"NoConnection": errors.New("connection refused"),
	} {
		for _, namespaces := range []int{1, 10} {
			t.Run(fmt.Sprintf("%s/%d", name, namespaces), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					random := rand.New(rand.NewPCG(1, uint64(namespaces)))
					s := &server{refuse: func(context.Context, request) error {
						mu.Lock()
						defer mu.Unlock()
						if random.IntN(5) > 0 {
							return failure
						}
						return nil
					}}
					rec, stop := start(t, s, events.Options{})
					const n = 200
					for i := range n {
						rec.Failure(inNamespace(fmt.Sprint("runs-", i%namespaces), fmt.Sprint("run-", i)), errAway)
					}
					time.Sleep(time.Hour)
					assert.Len(t, s.all(), n)
					assert.Empty(t, rec.Stats().Lost)
					require.NoError(t, stop())
					assertAccounts(t, rec)
				})
			})
		}
	}
}

// TestFlakyServer_TakesTheFifthAttempt: each write of a thousand objects fails
// four times. With ten namespaces that takes two hours, a few minutes more or
// less, as the workers are scheduled.
func TestFlakyServer_TakesTheFifthAttempt(t *testing.T) {
	for _, namespaces := range []int{1, 10} {
		t.Run(fmt.Sprint(namespaces), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				attempts := map[string]int{}
				s := &server{refuse: func(_ context.Context, w request) error {
					mu.Lock()
					defer mu.Unlock()
					attempts[w.name]++
					if attempts[w.name] < 5 {
						return unavailable()
					}
					return nil
				}}
				rec, stop := start(t, s, events.Options{})
				const n = 1000
				for i := range n {
					rec.Failure(inNamespace(fmt.Sprint("runs-", i%namespaces), fmt.Sprint("run-", i)), errAway)
				}
				time.Sleep(3 * time.Hour)
				assert.Len(t, s.all(), n)
				assert.Empty(t, rec.Stats().Lost)
				require.NoError(t, stop())
				assertAccounts(t, rec)
			})
		})
	}
}
