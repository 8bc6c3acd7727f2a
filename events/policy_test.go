// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

// TestPolicy_ThatDeniesOneObject: an admission policy answers 403 to the Events
// of one object, while the others of the namespace are written.
func TestPolicy_ThatDeniesOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: denyBad}
		rec := recordOneBad(t, s)
		assert.Equal(t, map[string]int64{events.LostForbidden: 1}, rec.Stats().Lost)
		assert.LessOrEqual(t, s.count(func(w request) bool { return w.object == "bad" }), 14, "requests for it")
		detours := s.count(func(w request) bool { return w.object != "bad" && w.group == "" })
		assert.Zero(t, detours, "the others are written as before")
	})
}

func denyBad(_ context.Context, w request) error {
	if w.object == "bad" {
		return apierrors.NewForbidden(corev1.Resource("events"), w.name, errors.New("denied by policy"))
	}
	return nil
}

// recordOneBad reports a failure of the object bad, and one of another object
// each second for ten minutes.
func recordOneBad(t *testing.T, s *server) *events.Recorder {
	t.Helper()
	rec, stop := start(t, s, events.Options{})
	rec.Failure(object("bad"), errAway)
	for i := range 600 {
		rec.Failure(object(fmt.Sprint("good-", i)), errAway)
		time.Sleep(time.Second)
	}
	_ = stop()
	return rec
}

// generated is an error of generated validation code, as of
// protoc-gen-validate: its Reason is a sentence.
type generated struct{ reason string }

func (e generated) Error() string  { return "invalid Spec.Name: " + e.reason }
func (e generated) Reason() string { return e.reason }

func TestAReasonThatIsASentence_IsNoReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		longest := strings.Repeat("A", 128)
		rec, stop := start(t, s, events.Options{})
		for i, reason := range []string{"password=canary-5f1d7c2e9b is refused", "password=canary5f1d7c2e9b", "", strings.Repeat("A", 129)} {
			rec.Failure(object(fmt.Sprint(i)), generated{reason})
		}
		rec.Failure(object("own"), generated{"Bad_Input:2"})
		rec.Failure(object("longest"), generated{longest})
		require.NoError(t, rec.Flush(t.Context()))
		reasons := map[string]int{}
		for _, ev := range s.all() {
			reasons[ev.Reason]++
		}
		assert.Equal(t, map[string]int{events.InternalError: 4, "Bad_Input:2": 1, longest: 1}, reasons)
		require.NoError(t, stop())
	})
}
