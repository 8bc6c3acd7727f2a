// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
)

var errAway = errors.New("the store is away")

// invalid is a terminal error.
func invalid(text string) error {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "AgentRun"}, "a", nil)
	err.ErrStatus.Message = text
	return err
}

// TestObjects_AreDistinguishedByUIDAndName: a restored cluster, or a test, may
// have two objects with one uid.
func TestObjects_AreDistinguishedByUIDAndName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		first, second := object("a"), object("a")
		second.UID = types.UID("recreated")
		third := object("a")
		third.UID = ""
		fourth := object("b")
		fourth.UID = ""
		fifth := object("copy")
		fifth.UID = first.UID
		for range 3 {
			for _, o := range []*corev1.ConfigMap{first, second, third, fourth, fifth} {
				rec.Failure(o, errAway)
			}
		}
		synctest.Wait()
		assert.Len(t, s.all(), 5)
	})
}

func TestSeries_HasATypeReasonAndAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{WritesPerMinute: 100})
		for range 3 {
			rec.Eventf(object("a"), nil, "Normal", "A", "X", "n")
			rec.Eventf(object("a"), nil, "Warning", "A", "X", "n")
			rec.Eventf(object("a"), nil, "Normal", "B", "X", "n")
			rec.Eventf(object("a"), nil, "Normal", "A", "Y", "n")
			rec.Eventf(object("a"), nil, "Normal", "A", "", "n")
			rec.Legacy().Event(object("a"), "Normal", "A", "n") // the reason is the action
		}
		synctest.Wait()
		assert.Len(t, s.all(), 5)
	})
}

// assertCap checks that no 60 seconds hold more than n requests about one
// object, refused ones included.
func assertCap(t *testing.T, s *server, n int) {
	t.Helper()
	byObject := map[string][]time.Time{}
	for _, w := range s.asked() {
		id := w.namespace + "/" + w.object
		byObject[id] = append(byObject[id], w.at)
	}
	for o, times := range byObject {
		slices.SortFunc(times, time.Time.Compare)
		for i := n; i < len(times); i++ {
			if !assert.GreaterOrEqual(t, times[i].Sub(times[i-n]), time.Minute, "writes about %s", o) {
				return
			}
		}
	}
}
