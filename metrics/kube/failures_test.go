// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/metrics/kube"
)

// An item fails from its first failure to its next success, through any number
// of retries, and counts after 15 minutes.
//
//req:shows O2
func TestQueue_CountsItemsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t)
		q := kube.NewQueue(m.Controller("c"), backOff(time.Minute))
		defer q.ShutDown()
		attempt := func(item string, succeeds bool) {
			q.Add(item)
			assert.Equal(t, item, take(t, q))
			if succeeds {
				q.Forget(item)
			} else {
				q.AddRateLimited(item)
			}
			q.Done(item)
		}
		is := func(failing int64, longest time.Duration, reason string) {
			t.Helper()
			assert.Equal(t, failing, q.State().Failing, reason)
			assert.Equal(t, longest, q.State().LongestFailing, reason)
		}

		attempt("healthy", true)
		is(0, 0, "an item that never failed does not fail")
		attempt("a", false)
		<-time.After(20 * time.Second)
		attempt("a", true)
		is(0, 0, "one conflict, and the retry succeeds")

		attempt("a", false)
		<-time.After(10 * time.Second)
		attempt("b", false)
		<-time.After(15*time.Minute - 11*time.Second)
		is(0, 15*time.Minute-time.Second, "no item has failed for 15 minutes")
		<-time.After(time.Second)
		is(1, 15*time.Minute, "one has")
		<-time.After(10 * time.Second)
		is(2, 15*time.Minute+10*time.Second, "both have")
		assert.Equal(t, "2", scrape(t, ep, "controller_queue_failing")[`controller_queue_failing{controller="c"}`])

		q.AddRateLimited("a")
		is(2, 15*time.Minute+10*time.Second, "a further failure does not begin again")
		q.Forget("a")
		is(1, 15*time.Minute, "the other still fails")
		q.Forget("b")
		q.Forget("b")
		is(0, 0, "both have succeeded")
	})
}
