// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/klog/v2"

	"github.com/proompteng/controllerkit/events"
)

// klogged returns what is logged to klog until the end of the test.
func klogged(t *testing.T) *lines {
	t.Helper()
	log := new(lines)
	before := klog.CaptureState()
	t.Cleanup(before.Restore)
	klog.SetLogger(funcr.New(func(prefix, args string) { *log = append(*log, prefix+args) }, funcr.Options{}))
	return log
}

const notStarted = "Nothing writes the recorded events"

// The process of a mistake in main goes on for weeks, and its Events are
// missed when something is wrong.
func TestUnstarted_IsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := klogged(t)
		rec, err := events.New((&server{}).sink(), controller, events.Options{})
		require.NoError(t, err)
		for range 59 {
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Second)
		}
		assert.Empty(t, *log, "a manager may need a while before it starts the recorder")
		for range 1000 {
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Minute)
		}
		require.Len(t, *log, 1)
		assert.Contains(t, (*log)[0], notStarted)
		assert.Contains(t, (*log)[0], "RunWith", "what to do")
		assert.Contains(t, (*log)[0], controller)
		assert.Contains(t, (*log)[0], `"pending"=61`)
	})
}

// Any call says it, because a controller may record nothing for hours.
func TestUnstarted_IsLoggedByAnyCall(t *testing.T) {
	for entry, do := range entryPoints() {
		synctest.Test(t, func(t *testing.T) {
			log := klogged(t)
			rec, err := events.New((&server{}).sink(), controller, events.Options{})
			require.NoError(t, err)
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Hour)
			require.Empty(t, *log, entry)
			do(rec, object("a"))
			assert.Len(t, *log, 1, entry)
		})
	}
}

func TestUnstarted_IsLoggedAtTheFirstLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := klogged(t)
		rec, err := events.New((&server{}).sink(), controller, events.Options{})
		require.NoError(t, err)
		for range 1000 {
			rec.Failure(bare("a"), errAway)
			time.Sleep(time.Minute)
		}
		require.Len(t, *log, 1)
		assert.Contains(t, (*log)[0], notStarted)
		assert.Contains(t, (*log)[0], `"lost"=1`)
		assert.Contains(t, (*log)[0], "NoReference", "the cause")
		assert.Contains(t, (*log)[0], "set Options.Scheme", "how to fix it")
	})
}

func TestUnstarted_IsNotLoggedOtherwise(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		use    func(t *testing.T, rec *events.Recorder)
	}{
		"Started": {"A Recorder that was started has a writer.", func(t *testing.T, rec *events.Recorder) {
			t.Helper()
			run(t, rec)
			synctest.Wait()
		}},
		"StartedLate": {"Start came within a minute.", func(t *testing.T, rec *events.Recorder) {
			t.Helper()
			rec.Failure(object("a"), errAway)
			time.Sleep(59 * time.Second)
			run(t, rec)
			synctest.Wait()
		}},
		"Flushed": {"A command without Start flushes.", func(t *testing.T, rec *events.Recorder) {
			t.Helper()
			rec.Failure(object("a"), errAway)
			require.NoError(t, rec.Flush(t.Context()))
		}},
		"Idle": {"Nothing was recorded that could be lost.", func(t *testing.T, rec *events.Recorder) {
			t.Helper()
			rec.Failure(object("a"), nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := klogged(t)
				rec, err := events.New((&server{}).sink(), controller, events.Options{})
				require.NoError(t, err)
				tc.use(t, rec)
				for range 10 {
					time.Sleep(time.Minute)
					rec.Failure(object("a"), nil)
					if name != "Idle" {
						rec.Failure(object("a"), errAway)
					}
				}
				for _, line := range *log {
					assert.NotContains(t, line, notStarted, tc.reason)
				}
			})
		})
	}
}
