// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// TestRedactor_MasksATextWhenItIsRecorded: later it may have forgotten the
// value, and the Event may be written much later.
//
//req:shows E5
func TestRedactor_MasksATextWhenItIsRecorded(t *testing.T) {
	const value = "hush-hush"
	for name, record := range map[string]func(*events.Recorder){
		"Failure": func(r *events.Recorder) { r.Failure(object("a"), errors.New("denied with "+value)) },
		"Note":    func(r *events.Recorder) { r.Eventf(object("a"), nil, "Warning", "Denied", "Ask", "with %s", value) },
		"Legacy":  func(r *events.Recorder) { r.Legacy().Event(object("a"), "Warning", "Denied", "with "+value) },
		"Related": func(r *events.Recorder) {
			other := object(value)
			other.UID = "u"
			r.Eventf(object("a"), other, "Warning", "Denied", "Ask", "related")
		},
		"Annotation": func(r *events.Recorder) {
			r.Legacy().AnnotatedEventf(object("a"), map[string]string{"example.com/k": value}, "Warning", "Denied", "annotated")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var forgotten atomic.Bool
				s := &server{}
				rec, err := events.New(s.sink(), controller, events.Options{Redact: func(text string) string {
					if forgotten.Load() {
						return text
					}
					return strings.ReplaceAll(text, value, "[masked]")
				}})
				require.NoError(t, err)
				record(rec)
				forgotten.Store(true)
				require.NoError(t, rec.Flush(t.Context()))
				require.Len(t, s.all(), 1)
				stored := s.all()[0].String()
				assert.NotContains(t, stored, value)
				assert.Contains(t, stored, "[masked]")
			})
		})
	}
}

// TestRedactor_IsCalledOnceForAText: a repeat is counted, and has the text that
// was clean before, also where a recovery makes it a new Event.
func TestRedactor_IsCalledOnceForAText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const value = "hush-hush"
		var calls atomic.Int64
		s := &server{}
		rec, _ := start(t, s, events.Options{Redact: func(text string) string {
			if !strings.Contains(text, value) {
				return text
			}
			if calls.Add(1) > 1 {
				return text
			}
			return "[masked]"
		}})
		for range 3 {
			for range 100 {
				rec.Failure(object("a"), errors.New(value))
				time.Sleep(time.Second)
			}
			rec.Failure(object("a"), nil)
			time.Sleep(time.Minute)
		}
		require.NoError(t, rec.Flush(t.Context()))
		assert.Equal(t, int64(1), calls.Load())
		for _, ev := range s.all() {
			assert.NotContains(t, ev.String(), value)
		}
	})
}

// TestRedactor_ThatHangsHoldsOnlyItsCaller: the Events of others are written.
func TestRedactor_ThatHangsHoldsOnlyItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		s := &server{}
		rec, stop := start(t, s, events.Options{Redact: func(text string) string {
			if strings.Contains(text, "slow") {
				<-end
			}
			return text
		}})
		for range 30 {
			go rec.Failure(object("a"), errors.New("slow"))
		}
		synctest.Wait()
		rec.Failure(object("b"), errAway)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		require.NoError(t, rec.Flush(ctx))
		assert.Len(t, s.all(), 1)
		close(end)
		synctest.Wait()
		require.NoError(t, stop())
		assert.Len(t, s.all(), 2, "its text is recorded when the redactor returns")
	})
}
