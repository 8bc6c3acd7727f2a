// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

func TestSetCondition(t *testing.T) {
	const later = time.Hour
	stored := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Running", Message: "all is well",
		ObservedGeneration: 3, LastTransitionTime: *at(0),
	}
	with := func(change func(*metav1.Condition)) metav1.Condition {
		c := stored
		change(&c)
		return c
	}
	cases := map[string]struct {
		reason    string
		set       metav1.Condition
		want      metav1.Condition
		unchanged bool
	}{
		"Same": {
			reason: "The same condition again is neither a change nor a transition.",
			set:    with(func(c *metav1.Condition) { c.LastTransitionTime = *at(later) }), want: stored, unchanged: true,
		},
		"Flipped": {
			reason: "A new status is a transition, now.",
			set:    with(func(c *metav1.Condition) { c.Status = "False" }),
			want:   with(func(c *metav1.Condition) { c.Status, c.LastTransitionTime = "False", *at(later) }),
		},
		"FlippedAtATime": {
			reason: "Or when the caller says that it was.",
			set:    with(func(c *metav1.Condition) { c.Status, c.LastTransitionTime = "False", *at(time.Minute) }),
			want:   with(func(c *metav1.Condition) { c.Status, c.LastTransitionTime = "False", *at(time.Minute) }),
		},
		"Message": {
			reason: "A new message is a change, but no transition.",
			set:    with(func(c *metav1.Condition) { c.Message = "still well" }),
			want:   with(func(c *metav1.Condition) { c.Message = "still well" }),
		},
		"NewerGeneration": {
			reason: "The same condition of a newer spec is a change.",
			set:    with(func(c *metav1.Condition) { c.ObservedGeneration = 4 }),
			want:   with(func(c *metav1.Condition) { c.ObservedGeneration = 4 }),
		},
		"OlderGeneration": {
			reason: "A condition of an older spec loses.",
			set:    with(func(c *metav1.Condition) { c.Status, c.ObservedGeneration = "False", 2 }), want: stored, unchanged: true,
		},
		"GenerationNotStated": {
			reason: "The generation is no longer stated, which changes the list. Patch fills it in.",
			set:    with(func(c *metav1.Condition) { c.ObservedGeneration = 0 }),
			want:   with(func(c *metav1.Condition) { c.ObservedGeneration = 0 }),
		},
		"ChangeWithoutGeneration": {
			reason: "A changed condition without a generation leaves it to Patch to say which.",
			set:    with(func(c *metav1.Condition) { c.Reason, c.ObservedGeneration = "Slow", 0 }),
			want:   with(func(c *metav1.Condition) { c.Reason, c.ObservedGeneration = "Slow", 0 }),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := metav1.Condition{Type: "Other"}
			conds := []metav1.Condition{other, stored}
			changed := status.SetCondition(&conds, tc.set, noon.Add(later))
			assert.Equal(t, []metav1.Condition{other, tc.want}, conds, tc.reason)
			assert.Equal(t, !tc.unchanged, changed, tc.reason)
			assert.False(t, status.SetCondition(&conds, tc.set, noon.Add(2*later)), "the second call changes nothing")
		})
	}
	t.Run("New", func(t *testing.T) {
		var conds []metav1.Condition
		assert.True(t, status.SetCondition(&conds, cond("Ready", "True", "Ok"), noon))
		assert.Equal(t, *at(0), conds[0].LastTransitionTime)
	})
	t.Run("StoredWithoutTransition", func(t *testing.T) {
		conds := []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ok"}}
		assert.True(t, status.SetCondition(&conds, cond("Ready", "True", "Ok"), noon), "the API server requires a time")
		assert.Equal(t, *at(0), conds[0].LastTransitionTime)
	})
	t.Run("FlippedInTheSameSecond", func(t *testing.T) {
		conds := []metav1.Condition{stored}
		assert.True(t, status.SetCondition(&conds, with(func(c *metav1.Condition) { c.Status = "False" }), noon), "its time is the same")
	})
	t.Run("Nil", func(t *testing.T) {
		assert.False(t, status.SetCondition(nil, cond("Ready", "True", "Ok"), noon))
	})
}

func TestSetCondition_FitsReasonAndMessageToTheAPI(t *testing.T) {
	set := func(reason, message string) metav1.Condition {
		var conds []metav1.Condition
		c := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: message}
		status.SetCondition(&conds, c, noon)
		assert.False(t, status.SetCondition(&conds, c, noon), "fitting is stable: no change, no loop")
		return conds[0]
	}
	for reason, want := range map[string]string{
		"AsExpected":                "AsExpected",
		"A_b,c:D9":                  "A_b,c:D9",
		"aZz":                       "aZz",
		"Http500":                   "Http500",
		"":                          "Unknown",
		"42":                        "Unknown",
		"404NotFound":               "NotFound",
		"image pull failed!":        "image_pull_failed",
		"exit status 1: oom\n":      "exit_status_1:_oom",
		"Trailing:":                 "Trailing",
		"Ünïcode":                   "n_code",
		strings.Repeat("A_", 512):   strings.Repeat("A_", 512),
		strings.Repeat("A", 2000):   strings.Repeat("A", 1024),
		strings.Repeat("Ab:", 1024): strings.TrimSuffix(strings.Repeat("Ab:", 342)[:1024], ":"),
	} {
		assert.Equal(t, want, set(reason, "").Reason, "reason %.40q", reason)
	}
	long := set("Ok", strings.Repeat("é", 20000)).Message
	assert.LessOrEqual(t, len(long), 32768)
	assert.Equal(t, 16384, utf8.RuneCountInString(long))
	odd := set("Ok", "x"+strings.Repeat("é", 20000)).Message
	assert.Len(t, odd, 32767, "cut on a whole character")
	assert.True(t, utf8.ValidString(odd))
	text := strings.Repeat("word ", 6400) + "the token is"
	assert.Equal(t, text, set("Ok", text+" "+strings.Repeat("s", 4000)).Message, "half a word may be half a secret, which no redactor finds")
	assert.Len(t, set("Ok", "failed: "+strings.Repeat("j", 40000)).Message, 32768, "a message without blanks keeps its beginning")
	assert.Equal(t, "a\uFFFDb", set("Ok", "a\xffb").Message)
	full := strings.Repeat("word ", 6553) + "end"
	assert.Equal(t, full, set("Ok", full).Message, "32768 bytes fit")
}

func TestSetConditions_SetsTheWholeGroup(t *testing.T) {
	w := status.Writer{Owned: []string{"Ready", "InvalidSpec", "Unreachable"}}
	ready := func(s metav1.ConditionStatus) metav1.Condition { return cond("Ready", s, "Checked") }
	invalid := cond("InvalidSpec", metav1.ConditionTrue, "MissingImage")
	var conds []metav1.Condition
	status.SetCondition(&conds, cond("Scheduled", metav1.ConditionTrue, "Bound"), noon)

	assert.True(t, w.SetConditions(&conds, noon, ready("False"), invalid))
	assert.False(t, w.SetConditions(&conds, noon.Add(time.Hour), ready("False"), invalid), "the same failure again changes nothing")
	assert.Equal(t, []string{"Scheduled", "Ready", "InvalidSpec"}, typesOf(conds))

	assert.True(t, w.SetConditions(&conds, noon.Add(time.Hour), ready("True")))
	assert.Equal(t, []string{"Scheduled", "Ready"}, typesOf(conds), "recovery clears the failure, and no one else's condition")
	assert.Equal(t, *at(time.Hour), conds[1].LastTransitionTime)

	newer := cond("Unreachable", metav1.ConditionTrue, "Timeout")
	newer.ObservedGeneration = 5
	status.SetCondition(&conds, newer, noon)
	old := ready("True")
	old.ObservedGeneration = 4
	w.SetConditions(&conds, noon, old)
	assert.Contains(t, typesOf(conds), "Unreachable", "a condition of a newer spec stays")

	same := invalid
	same.ObservedGeneration = 4
	status.SetCondition(&conds, same, noon)
	w.SetConditions(&conds, noon, old)
	assert.NotContains(t, typesOf(conds), "InvalidSpec", "one on the same spec is gone")

	assert.True(t, w.SetConditions(&conds, noon))
	assert.Equal(t, []string{"Scheduled"}, typesOf(conds), "an empty group removes every owned type")
	assert.False(t, w.SetConditions(nil, noon, invalid))
}

func typesOf(conds []metav1.Condition) []string {
	var types []string
	for _, c := range conds {
		types = append(types, c.Type)
	}
	return types
}

// TestSetConditions_ReportsNoChangeOfAnEqualReconcile: the group states no
// generation, and Commit fills it in.
func TestSetConditions_ReportsNoChangeOfAnEqualReconcile(t *testing.T) {
	stored := cond("Ready", "True", "Ok")
	stored.ObservedGeneration = 3
	stored.LastTransitionTime = *at(0)
	conds := []metav1.Condition{stored}
	w := status.Writer{Owned: []string{"Ready"}}
	assert.False(t, w.SetConditions(&conds, noon.Add(time.Hour), cond("Ready", "True", "Ok")))
	next := cond("Ready", "True", "Ok")
	next.ObservedGeneration = 4
	assert.True(t, w.SetConditions(&conds, noon.Add(time.Hour), next))
	older := cond("Ready", "False", "Late")
	older.ObservedGeneration = 3
	assert.False(t, w.SetConditions(&conds, noon.Add(time.Hour), older), "a condition of an older spec loses")
	assert.True(t, w.SetConditions(&conds, noon.Add(time.Hour), cond("Ready", "True", "Slow")))
}
