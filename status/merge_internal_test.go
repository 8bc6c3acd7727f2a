// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mergeConditions merges three lists as a Commit does after a conflict.
func mergeConditions(t *testing.T, before, after, live []metav1.Condition) ([]metav1.Condition, error) {
	t.Helper()
	var sides [3]content
	for i, list := range [...][]metav1.Condition{before, after, live} {
		fields, ok := decode(encode(map[string]any{"list": list})).(map[string]any)
		require.True(t, ok)
		if list == nil {
			continue
		}
		items, err := conditionsOf(&list, fields["list"])
		require.NoError(t, err)
		sides[i].conditions = conditionList{items: items, isSet: true}
	}
	m := merge{names: FieldNames{Conditions: "conditions"}, before: sides[0], after: sides[1], live: sides[2]}
	merged, err := m.merged()
	if err != nil {
		return nil, err
	}
	var list []metav1.Condition
	for _, e := range merged.conditions.items {
		list = append(list, e.Condition)
	}
	return list, nil
}

func TestNameOf_HasTheNamespaceIfThereIsOne(t *testing.T) {
	assert.Equal(t, "a", nameOf(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}}))
	assert.Equal(t, "default/a", nameOf(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}))
}

func TestMerge_Conditions(t *testing.T) {
	type list = []metav1.Condition
	cond := func(typ string, s metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: typ, Status: s, Reason: reason}
	}
	gen := func(c metav1.Condition, g int64) metav1.Condition { c.ObservedGeneration = g; return c }
	since := func(c metav1.Condition, d time.Duration) metav1.Condition {
		c.LastTransitionTime = metav1.NewTime(time.Unix(1e9, 0).Add(d))
		return c
	}
	var (
		a     = cond("A", "True", "Ok")
		aOff  = cond("A", "False", "Off")
		aLost = cond("A", "False", "Lost")
		b     = cond("B", "True", "Ok")
		bOff  = cond("B", "False", "Off")
	)
	cases := map[string]struct {
		reason              string
		before, after, live list
		want                list
		disputed            string
	}{
		"Nothing":           {reason: "Nothing is nil."},
		"OnlyOurs":          {"Our change is kept.", list{a}, list{aOff}, list{a}, list{aOff}, ""},
		"OnlyTheirs":        {"Their change is kept too.", list{a}, list{a}, list{aOff}, list{aOff}, ""},
		"DifferentTypes":    {"Changes of different types commute.", list{a, b}, list{aOff, b}, list{a, bOff}, list{aOff, bOff}, ""},
		"BothAdded":         {"The live list comes first, new types follow.", nil, list{a}, list{b}, list{b, a}, ""},
		"OursRemoved":       {"A removal is a change.", list{a, b}, list{b}, list{a, b}, list{b}, ""},
		"TheirsRemoved":     {"Theirs too.", list{a, b}, list{a, b}, list{b}, list{b}, ""},
		"BothRemoved":       {"Both sides removed the type.", list{a}, nil, nil, nil, ""},
		"SameChange":        {"Both found the same.", list{a}, list{aOff}, list{aOff}, list{aOff}, ""},
		"SameChangeLater":   {"A later transition alone is not a conflict. The stored time stays.", list{a}, list{since(aOff, time.Minute)}, list{since(aOff, 0)}, list{since(aOff, 0)}, ""},
		"Disputed":          {"Commit overwrites neither verdict.", list{b}, list{bOff}, list{gen(b, 2)}, nil, "conditions B"},
		"RemovedAndChanged": {"Nor removed.", list{b}, nil, list{bOff}, nil, "conditions B"},
		"ChangedAndRemoved": {"Nor brought back.", list{b}, list{bOff}, nil, nil, "conditions B"},
		"AddedTwice":        {"Two first verdicts that differ are a dispute too.", nil, list{b}, list{bOff}, nil, "conditions B"},
		"DisputedVerdict":   {"Whoever owns it.", list{a}, list{aOff}, list{aLost}, nil, "conditions A"},
		"GenerationsStay":   {"No generation is restamped.", list{gen(a, 1), gen(b, 1)}, list{gen(aOff, 1), gen(b, 1)}, list{gen(a, 1), gen(b, 2)}, list{gen(aOff, 1), gen(b, 2)}, ""},
		"TwiceInTheirs":     {"A list without keys goes through.", list{b}, list{b}, list{b, b}, list{b, b}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := mergeConditions(t, tc.before, tc.after, tc.live)
			if tc.disputed != "" {
				require.ErrorIs(t, err, ErrFieldConflict, tc.reason)
				require.ErrorContains(t, err, tc.disputed)
				assert.Nil(t, got)
				return
			}
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
		})
	}
	t.Run("AllDisputesAreNamed", func(t *testing.T) {
		_, err := mergeConditions(t, list{a, b}, list{aOff, bOff}, list{aLost, gen(b, 9)})
		require.ErrorContains(t, err, "conditions A")
		require.ErrorContains(t, err, "conditions B")
	})
}

// parseConditions reads a list from text: a letter for the type, t, f or u for
// the status, and a digit for the generation, 0 for none.
func parseConditions(text string) []metav1.Condition {
	var conds []metav1.Condition
	for word := range strings.FieldsSeq(text) {
		if len(word) < 3 || slices.ContainsFunc(conds, func(c metav1.Condition) bool { return c.Type == word[:1] }) {
			continue
		}
		conds = append(conds, metav1.Condition{
			Type: word[:1], Status: metav1.ConditionStatus(word[1:2]), ObservedGeneration: int64(word[2] - '0'), Message: word[3:],
			LastTransitionTime: metav1.NewTime(time.Unix(int64(1e9+len(word)), 0)),
		})
	}
	return conds
}

// FuzzMergeConditions: merging is idempotent, loses no type, and is the same
// from both sides.
func FuzzMergeConditions(f *testing.F) {
	f.Add("At1 Bf1", "Af1 Bf1", "At1 Bf1 Ct1")
	f.Add("At1", "", "Af2")
	f.Add("", "At1 Bt2", "Bt2x Af1")
	f.Add("At1", "Af0", "Af1 Bt0")
	f.Fuzz(func(t *testing.T, b, o, s string) {
		before, after, live := parseConditions(b), parseConditions(o), parseConditions(s)
		if !utf8.ValidString(b + o + s) {
			t.Skip("no text of an API object")
		}
		merged, err := mergeConditions(t, before, after, live)
		if err != nil {
			require.ErrorIs(t, err, ErrFieldConflict)
			require.Nil(t, merged)
			return
		}
		again, err := mergeConditions(t, live, merged, live)
		require.NoError(t, err)
		require.Equal(t, merged, again, "idempotent")
		alone, err := mergeConditions(t, before, before, live)
		require.NoError(t, err)
		require.Equal(t, live, alone, "who changed nothing takes theirs")

		in, of := typesOf(merged), func(list []metav1.Condition, typ string) bool { return slices.Contains(typesOf(list), typ) }
		for _, typ := range typesOf(slices.Concat(before, after, live)) {
			removed := of(before, typ) && (!of(after, typ) || !of(live, typ))
			require.True(t, removed || slices.Contains(in, typ), "type %s is lost", typ)
		}
		mirrored, err := mergeConditions(t, before, live, after)
		require.NoError(t, err)
		require.ElementsMatch(t, in, typesOf(mirrored))
	})
}

func typesOf(conds []metav1.Condition) []string {
	var types []string
	for _, c := range conds {
		types = append(types, c.Type)
	}
	return types
}
