// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

var (
	every     = flag.Int("every", 10, "play each nth plan")
	tableFile = flag.String("table", "", "write a table of the plans to this file")
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = os.Setenv("KUBE_FEATURE_WatchListClient", "false") // the server has no streaming lists
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	// The usual ones limit their rate with a clock that all worlds share.
	utilruntime.ErrorHandlers = nil //nolint:reassign // it has no other option
	os.Exit(m.Run())
}

// TestPlans_EndAsWithoutFaults plays the plans of all stories. The example's
// controller ends all of them as the run without faults, and the table says how
// many the others end so.
//
//req:shows J3 J4
func TestPlans_EndAsWithoutFaults(t *testing.T) {
	all := stories(t)
	table := make([]counts, len(contestants()))
	t.Run("of", func(t *testing.T) {
		for i, c := range contestants() {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				table[i] = counts{}
				generated := 0
				for _, s := range all {
					generated = playStory(t, c, &s, table[i], generated)
				}
				table[i].assertPlayed(t)
			})
		}
	})
	if *tableFile != "" && !t.Failed() {
		require.NoError(t, os.WriteFile(*tableFile, []byte(markdown(table)), 0o644))
	}
}

// playStory learns the plans of a story from a run without faults, and plays
// each nth of all stories. It returns how many plans there were so far.
func playStory(t *testing.T, c contestant, s *story, counts counts, before int) (generated int) {
	t.Helper()
	healthy := play(t, c, plan{story: s, pattern: healthy})
	faultless := healthy.outcome()
	require.Empty(t, healthy.errs)
	require.Equal(t, s.Ends, string(faultless.phase)+" "+faultless.reason, "%s: %s", s.Name, faultless.final)
	require.Equal(t, s.Jobs, faultless.jobs, s.Name)
	require.Equal(t, faultless.phase == v1alpha1.Failed, faultless.event, s.Name)
	generated = before
	for _, p := range plans(s, healthy.history) {
		generated++
		if generated%*every != 0 {
			continue
		}
		w := play(t, c, p)
		got := w.outcome()
		wrong := differences(faultless, got)
		counts.add(p.pattern, wrong)
		if !c.must {
			continue
		}
		assert.True(t, w.reached, "%s: its write did not happen", p)
		assert.Empty(t, w.errs, "%s", p)
		if losesEvent(p, healthy.history) {
			wrong = slices.DeleteFunc(wrong, func(what string) bool { return what == eventLost })
		}
		assert.Empty(t, wrong, "%s:\nwant %s\ngot  %s\n%v", p, faultless.final, got.final, got.broken)
	}
	return generated
}

// losesEvent reports whether the plan kills the process after it has recorded
// the end of the run and before it has written the Event. Kubernetes has no
// write that does both.
func losesEvent(p plan, log []change) bool {
	recorded := false
	for _, c := range log {
		if p.pattern == crashBefore && recorded && c.point == p.at {
			return true
		}
		recorded = recorded || runEnded(c)
		if recorded && c.base() == "events" {
			return false
		}
		if p.pattern != hidden && recorded && c.point == p.at {
			return true
		}
	}
	return false
}
