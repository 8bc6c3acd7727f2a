// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
)

// inNamespace is an object of a namespace.
func inNamespace(namespace, name string) *corev1.ConfigMap {
	o := object(name)
	o.Namespace, o.UID = namespace, types.UID(namespace+"/"+name)
	return o
}

// failures are the ways in which the writes of a namespace fail.
func failures() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"500": func(context.Context) error {
			return apierrors.NewInternalError(errors.New(`failed calling webhook "events.example.com"`))
		},
		"Hangs": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"HangsThen504": func(ctx context.Context) error {
			select {
			case <-time.After(5 * time.Second):
				return apierrors.NewTimeoutError("webhook", 0)
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		"Denied":      func(context.Context) error { return notGranted() },
		"Terminating": func(context.Context) error { return namespaceTerminating() },
	}
}

// failingIn is a server where the namespaces bad-0 to bad-n fail, and that
// takes 20 ms for others.
func failingIn(fail func(context.Context) error) *server {
	return &server{refuse: func(ctx context.Context, w request) error {
		if strings.HasPrefix(w.namespace, "bad") {
			return fail(ctx)
		}
		time.Sleep(20 * time.Millisecond)
		return nil
	}}
}

// TestAFailingNamespace_DelaysNoOther: 1 to 1,000 failing objects in 1 to 20
// namespaces, and 20 healthy namespaces, whose first occurrences come at the
// same time, a moment later and long after.
//
//req:shows E6
func TestAFailingNamespace_DelaysNoOther(t *testing.T) {
	for name, fail := range failures() {
		for _, bad := range []struct{ objects, namespaces int }{{1, 1}, {5, 1}, {100, 1}, {1000, 1}, {2, 2}, {40, 20}, {1000, 20}} {
			for _, after := range []time.Duration{0, time.Second, 90 * time.Second} {
				t.Run(fmt.Sprintf("%s/%dIn%d/%v", name, bad.objects, bad.namespaces, after), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { assertNoDelay(t, fail, bad.objects, bad.namespaces, after) })
				})
			}
		}
	}
}

// assertNoDelay lets objects of some namespaces fail, and some time later 20
// healthy ones.
func assertNoDelay(t *testing.T, fail func(context.Context) error, failing, namespaces int, after time.Duration) {
	t.Helper()
	s := failingIn(fail)
	rec, stop := start(t, s, events.Options{})
	for i := range failing {
		rec.Failure(inNamespace("bad-"+strconv.Itoa(i%namespaces), fmt.Sprint("run-", i)), errAway)
	}
	time.Sleep(after)
	for i := range 20 {
		rec.Failure(inNamespace("good-"+strconv.Itoa(i), "run"), errAway)
	}
	hanging := min(failing, 2*namespaces) // before the namespaces are known to fail, on half of the workers
	time.Sleep(3*time.Second + time.Duration((hanging+3)/4)*5*time.Second)
	assert.Len(t, s.writes("create"), 20, "a request that hangs takes 5 s")
	require.Empty(t, events.Unbalanced(rec))
	assertTotal(t, s, 20)
	assertCap(t, s, 5)
	_ = stop()
	assertAccounts(t, rec)
}

// TestAFailingNamespace_LeavesHalfOfTheThroughput: what healthy namespaces need
// for 400 Events is at most twice the time that they need alone.
func TestAFailingNamespace_LeavesHalfOfTheThroughput(t *testing.T) {
	took := func(t *testing.T, s *server, failing, namespaces int) (d time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			rec, stop := start(t, s, events.Options{})
			for i := range failing {
				rec.Failure(inNamespace("bad-"+strconv.Itoa(i%namespaces), fmt.Sprint("run-", i)), errAway)
			}
			began := time.Now()
			for i := range 400 {
				rec.Failure(inNamespace("good-"+strconv.Itoa(i%20), fmt.Sprint("run-", i)), errAway)
			}
			for len(s.writes("create")) < 400 && time.Since(began) < time.Hour {
				time.Sleep(50 * time.Millisecond)
			}
			d = time.Since(began)
			_ = stop()
		})
		return d
	}
	for name, fail := range failures() {
		alone := took(t, failingIn(fail), 0, 1)
		for _, bad := range []struct{ objects, namespaces int }{{100, 1}, {1000, 20}} {
			first := time.Duration(bad.objects) * time.Second / 20 // of each, before it is known to fail
			assert.LessOrEqual(t, took(t, failingIn(fail), bad.objects, bad.namespaces), 2*alone+first, "%s: %+v", name, bad)
		}
	}
}

// TestAnUpdate_IsNotRenamed: a webhook may give any reason to its refusal.
func TestAnUpdate_IsNotRenamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.verb == "patch" {
				return taken("x")
			}
			return nil
		}}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Second)
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Minute)
		assert.NotZero(t, rec.Stats().Retried)
		require.Empty(t, events.Unbalanced(rec))
	})
}

// TestAFailingNamespace_HasOneRequestAtATime, and all of them have half of the
// workers.
func TestAFailingNamespace_HasOneRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		busy, most, all, mostOfAll := map[string]int{}, 0, 0, 0
		began := time.Now()
		s := &server{refuse: func(ctx context.Context, w request) error {
			mu.Lock()
			busy[w.namespace]++
			all++
			if time.Since(began) > time.Minute { // each has failed by then
				most, mostOfAll = max(most, busy[w.namespace]), max(mostOfAll, all)
			}
			mu.Unlock()
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			busy[w.namespace]--
			all--
			return ctx.Err()
		}}
		rec, stop := start(t, s, events.Options{})
		for i := range 200 {
			rec.Failure(inNamespace("bad-"+strconv.Itoa(i%20), fmt.Sprint("run-", i)), errAway)
		}
		time.Sleep(5 * time.Minute)
		mu.Lock()
		assert.Equal(t, 1, most)
		assert.LessOrEqual(t, mostOfAll, 4)
		mu.Unlock()
		_ = stop()
		assertAccounts(t, rec)
	})
}
