// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// SetCondition adds c to conds, or updates the stored condition of its type,
// and reports whether conds changed. It differs from meta.SetStatusCondition of
// apimachinery:
//
//   - lastTransitionTime changes only if Status does. It becomes c's if that is
//     set and differs from the stored one, otherwise now. A new Reason or
//     Message is a change, and so a write. Leave out text that changes by
//     itself, such as a countdown. A CRD may not have the field: Patch and
//     Commit do not write a time alone where none is stored.
//   - If c has an older ObservedGeneration than the stored condition, conds
//     does not change. Zero means that c does not state one. The list then has
//     zero, and [Patch] and [Writer.Commit] fill in the generation of the
//     object that was read, as kubectl wait expects. They leave zero if the
//     stored condition had none and nothing else of it changed. A condition
//     that a reconcile does not set keeps its generation: set each condition
//     that you own every time.
//   - Reason and Message are fitted to the limits of the API server, so that no
//     error text can fail the whole write. The message is cut at the last blank
//     within 32768 bytes, because a redactor does not recognize half of a
//     secret. A word of more than 4096 bytes is cut itself. In a reason, one
//     underscore replaces each run of invalid characters, and everything before
//     the first letter is dropped. An empty reason becomes Unknown. A wrong
//     type or status is an error of Patch and Commit.
//
// A nil conds does not change. SetCondition does not allocate unless it appends
// or has to fit a text. Do not call it for one list from two goroutines. To set
// every condition that a controller owns, see [Writer.SetConditions].
func SetCondition(conds *[]metav1.Condition, c metav1.Condition, now time.Time) (changed bool) {
	if conds == nil {
		return false
	}
	stored := findCondition(*conds, c.Type)
	if stored == nil {
		*conds = append(*conds, settle(c, metav1.Condition{}, now))
		return true
	}
	c = settle(c, *stored, now)
	changed = !sameVerdict(*stored, c) || !sameSecond(&stored.LastTransitionTime, &c.LastTransitionTime)
	*stored = c
	return changed
}

// settle returns the condition to store for c in place of stored, which is zero
// for a new type.
func settle(c, stored metav1.Condition, now time.Time) metav1.Condition {
	c.Reason, c.Message = fitReason(c.Reason), fitMessage(c.Message)
	if c.ObservedGeneration != 0 && c.ObservedGeneration < stored.ObservedGeneration {
		return stored
	}
	switch moved := c.Status != stored.Status; {
	case !moved && !stored.LastTransitionTime.IsZero():
		c.LastTransitionTime = stored.LastTransitionTime
	case c.LastTransitionTime.IsZero(), moved && sameSecond(&c.LastTransitionTime, &stored.LastTransitionTime):
		c.LastTransitionTime = wholeSecond(now)
	}
	return c
}

func findCondition(conds []metav1.Condition, typ string) *metav1.Condition {
	if i := slices.IndexFunc(conds, func(c metav1.Condition) bool { return c.Type == typ }); i >= 0 {
		return &conds[i]
	}
	return nil
}

// sameVerdict compares all fields but the transition time.
func sameVerdict(a, b metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.ObservedGeneration == b.ObservedGeneration &&
		a.Reason == b.Reason && a.Message == b.Message
}

// The limits of the API server for a condition: the markers of metav1.Condition
// in apimachinery's meta/v1/types.go.
const (
	maxType    = 316
	maxReason  = 1024
	maxMessage = 32768
)

// fitMessage cuts m at a blank near the limit, or on a whole character if there
// is none. It replaces bytes that are not UTF-8, as encoding/json does.
func fitMessage(m string) string {
	whole := strings.ToValidUTF8(m, string(utf8.RuneError))
	m = strings.ToValidUTF8(whole[:min(len(whole), maxMessage)], "")
	if blank := strings.LastIndexAny(m, " \t\n"); m != whole && blank > maxMessage-4096 {
		m = m[:blank]
	}
	return m
}

// fitReason makes r match ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$ with at most
// 1024 bytes. It returns a valid reason unchanged.
func fitReason(r string) string {
	r = strings.Map(func(c rune) rune {
		if isLetter(c) || '0' <= c && c <= '9' || c == '_' || c == ',' || c == ':' {
			return c
		}
		return ' '
	}, r)
	if strings.Contains(r, " ") {
		r = strings.Join(strings.Fields(r), "_")
	}
	r = strings.TrimLeftFunc(r, func(c rune) bool { return !isLetter(c) })
	return cmp.Or(strings.TrimRight(r[:min(len(r), maxReason)], ",:"), "Unknown")
}

func isLetter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// checkCondition returns an error for a value that has no obvious correction.
// The error begins with the field.
func checkCondition(c metav1.Condition) error {
	if len(c.Type) > maxType || len(validation.IsQualifiedName(c.Type)) > 0 {
		return fmt.Errorf(".type: %.40q is not accepted; want a name such as Ready or example.com/Ready, with at most %d characters", c.Type, maxType)
	}
	if !slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}, c.Status) {
		return fmt.Errorf(".status: %q is not accepted; want True, False or Unknown%s", c.Status, otherList)
	}
	if c.ObservedGeneration < 0 {
		return fmt.Errorf(".observedGeneration: %d is not accepted; want 0, or the generation of the object", c.ObservedGeneration)
	}
	return nil
}
