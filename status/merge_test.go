// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

func TestMergeConditions(t *testing.T) {
	type list = []metav1.Condition
	gen := func(c metav1.Condition, g int64) metav1.Condition { c.ObservedGeneration = g; return c }
	since := func(c metav1.Condition, d time.Duration) metav1.Condition { c.LastTransitionTime = *at(d); return c }
	var (
		a     = cond("A", "True", "Ok")
		aOff  = cond("A", "False", "Off")
		aLost = cond("A", "False", "Lost")
		b     = cond("B", "True", "Ok")
		bOff  = cond("B", "False", "Off")
	)
	cases := map[string]struct {
		reason             string
		base, ours, theirs list
		want               list
		disputed           string
	}{
		"Nothing":                {reason: "Nothing is nil."},
		"OnlyOurs":               {"Our change is kept.", list{a}, list{aOff}, list{a}, list{aOff}, ""},
		"OnlyTheirs":             {"And so is theirs.", list{a}, list{a}, list{aOff}, list{aOff}, ""},
		"DifferentTypes":         {"Changes of different types commute.", list{a, b}, list{aOff, b}, list{a, bOff}, list{aOff, bOff}, ""},
		"BothAdded":              {"In the order of theirs, then ours.", nil, list{a}, list{b}, list{b, a}, ""},
		"OursRemoved":            {"A removal is a change.", list{a, b}, list{b}, list{a, b}, list{b}, ""},
		"TheirsRemoved":          {"Theirs too.", list{a, b}, list{a, b}, list{b}, list{b}, ""},
		"BothRemoved":            {"Nobody misses it.", list{a}, nil, nil, nil, ""},
		"SameChange":             {"Both found the same.", list{a}, list{aOff}, list{aOff}, list{aOff}, ""},
		"SameChangeLater":        {"A later transition alone is no dispute; the stored time stays.", list{a}, list{since(aOff, time.Minute)}, list{since(aOff, 0)}, list{since(aOff, 0)}, ""},
		"Disputed":               {"Nobody's verdict is overwritten.", list{b}, list{bOff}, list{gen(b, 2)}, nil, "conditions B"},
		"RemovedAndChanged":      {"Nor removed.", list{b}, nil, list{bOff}, nil, "conditions B"},
		"ChangedAndRemoved":      {"Nor brought back.", list{b}, list{bOff}, nil, nil, "conditions B"},
		"AddedTwice":             {"Two first verdicts that differ are a dispute too.", nil, list{b}, list{bOff}, nil, "conditions B"},
		"OwnedWins":              {"Of an owned type ours counts.", list{a}, list{aOff}, list{aLost}, list{aOff}, ""},
		"OwnedRemovalWins":       {"Also if it is gone.", list{a}, nil, list{aLost}, nil, ""},
		"OwnedComesBack":         {"Or was removed.", list{a}, list{aOff}, nil, list{aOff}, ""},
		"OwnedOfOlderGeneration": {"But a verdict on an older spec never does.", list{a}, list{gen(aOff, 1)}, list{gen(aLost, 2)}, list{gen(aLost, 2)}, ""},
		"OwnedOfNoGeneration":    {"A verdict that states none is of the spec that was read, and never loses.", list{gen(a, 1)}, list{aOff}, list{gen(aLost, 1)}, list{aOff}, ""},
		"SameOfNoGeneration":     {"Nor is it a dispute to say the same and state none.", list{gen(b, 1)}, list{bOff}, list{gen(bOff, 1)}, list{gen(bOff, 1)}, ""},
		"GenerationsStay":        {"No generation is restamped.", list{gen(a, 1), gen(b, 1)}, list{gen(aOff, 1), gen(b, 1)}, list{gen(a, 1), gen(b, 2)}, list{gen(aOff, 1), gen(b, 2)}, ""},
		"TwiceInTheirs":          {"A list without keys goes through.", list{b}, list{b}, list{b, b}, list{b, b}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := status.MergeConditions(tc.base, tc.ours, tc.theirs, "A")
			if tc.disputed != "" {
				require.ErrorIs(t, err, status.ErrOverlap, tc.reason)
				require.ErrorContains(t, err, tc.disputed)
				assert.Nil(t, got)
				return
			}
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
		})
	}
	t.Run("AllDisputesAreNamed", func(t *testing.T) {
		_, err := status.MergeConditions(list{a, b}, list{aOff, bOff}, list{aLost, gen(b, 9)})
		require.ErrorContains(t, err, "conditions A")
		require.ErrorContains(t, err, "conditions B")
	})
	t.Run("ANewList", func(t *testing.T) {
		theirs := list{a}
		got, err := status.MergeConditions(list{a}, list{a}, theirs)
		require.NoError(t, err)
		got[0].Reason = "Mine"
		assert.Equal(t, list{a}, theirs)
	})
}
