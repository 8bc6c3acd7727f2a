// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// SetCondition adds c to conds, or updates the stored condition of its type,
// and reports whether conds changed. It differs from meta.SetStatusCondition of
// apimachinery:
//
//   - lastTransitionTime changes only if Status does. It becomes c's if that is
//     set and differs from the stored one, otherwise now. Patch and Commit do
//     not write a time alone where none is stored: a CRD may lack the field.
//   - A new Reason or Message is a change, and so a write. Leave out text that
//     changes by itself, such as a countdown.
//   - If c has an older ObservedGeneration than the stored condition, conds
//     does not change. A zero stays zero in the list: [FieldNames.Patch] and
//     [Writer.Commit] fill in the generation of the object that was read,
//     unless the stored condition has none and nothing else of it changed. A
//     condition that is not set keeps its generation, and kubectl wait ignores
//     it when that is old: set each condition that you own every time.
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
	stored := apimeta.FindStatusCondition(*conds, c.Type)
	if stored == nil {
		*conds = append(*conds, updated(metav1.Condition{}, c, now))
		return true
	}
	next := updated(*stored, c, now)
	isSame := isSameCondition(*stored, next) && stored.ObservedGeneration == next.ObservedGeneration
	*stored = next
	return !isSame
}

// isSameCondition reports whether two conditions of one type are equal except
// for their generations.
func isSameCondition(a, b metav1.Condition) bool {
	return sameTexts(a, b) && sameSecond(&a.LastTransitionTime, &b.LastTransitionTime)
}

// updated returns the condition to store for c in place of stored, which is
// zero for a new type.
func updated(stored, c metav1.Condition, now time.Time) metav1.Condition {
	c.Reason = fitReason(c.Reason)
	c.Message = fitMessage(c.Message)
	isOlder := c.ObservedGeneration != 0 && c.ObservedGeneration < stored.ObservedGeneration
	if isOlder {
		return stored
	}
	isTransition := c.Status != stored.Status
	if !isTransition && !stored.LastTransitionTime.IsZero() {
		c.LastTransitionTime = stored.LastTransitionTime
		return c
	}
	isCarriedOver := sameSecond(&c.LastTransitionTime, &stored.LastTransitionTime)
	if isCarriedOver || c.LastTransitionTime.IsZero() {
		c.LastTransitionTime = wholeSecond(now)
	}
	return c
}

// sameTexts compares the status, the reason and the message.
func sameTexts(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
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
	if len(whole) <= maxMessage {
		return whole
	}
	cut := strings.ToValidUTF8(whole[:maxMessage], "")
	blank := strings.LastIndexAny(cut, " \t\n")
	if blank > maxMessage-4096 {
		return cut[:blank]
	}
	return cut
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// fitReason makes r match ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$ with at most
// 1024 bytes. It returns a valid reason unchanged.
func fitReason(r string) string {
	r = strings.Map(func(c rune) rune {
		if strings.ContainsRune(letters+"0123456789_,:", c) {
			return c
		}
		return ' '
	}, r)
	if strings.Contains(r, " ") {
		r = strings.Join(strings.Fields(r), "_")
	}
	first := strings.IndexAny(r, letters)
	if first < 0 {
		return "Unknown"
	}
	r = r[first:]
	return strings.TrimRight(r[:min(len(r), maxReason)], ",:")
}

// checkCondition returns an error for a value that has no obvious correction.
// The error begins with the field.
func checkCondition(c metav1.Condition) error {
	isName := len(c.Type) <= maxType && len(validation.IsQualifiedName(c.Type)) == 0
	if !isName {
		return fmt.Errorf(".type: %.40q is not accepted; "+
			"want a name such as Ready or example.com/Ready, with at most %d characters", c.Type, maxType)
	}
	switch c.Status {
	case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
	default:
		return fmt.Errorf(".status: %q is not accepted; want True, False or Unknown%s", c.Status, otherList)
	}
	if c.ObservedGeneration < 0 {
		return fmt.Errorf(".observedGeneration: %d is not accepted; "+
			"want 0, or the generation of the object", c.ObservedGeneration)
	}
	return nil
}
