// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetCondition adds c to conds, or brings the stored condition of its type up to date, and reports whether that changed
// anything. It differs from meta.SetStatusCondition of apimachinery in what a controller trips over:
//
//   - lastTransitionTime moves only with Status, to c's if that is set and new, else to now.
//     A new Reason or Message is a change all the same, and so a write: leave out what changes by itself, such as a countdown.
//   - An observedGeneration older than the stored one loses: conds stays as it is. Zero means not stated: it never loses, the
//     stored one becomes zero too, and [Patch] and [Writer.Commit] fill in the generation of the object that was read. So a
//     verdict that is the same for a new spec says so, which kubectl wait asks for, and on the same generation nothing changes. A
//     condition that a reconcile does not set keeps its generation: set all that you own each time.
//   - Reason and Message are made to fit what the API server accepts, so that no text of an error can fail the whole write: the
//     message is cut at 32768 bytes on a whole character, and what a reason must not hold becomes an underscore.
//
// A nil conds is left alone, and nothing changed. SetCondition does not allocate unless it appends or has to fit a text.
// To set all conditions that a controller owns at once, see [Writer.SetConditions].
func SetCondition(conds *[]metav1.Condition, c metav1.Condition, now time.Time) (changed bool) {
	if conds == nil {
		return false
	}
	stored := find(*conds, c.Type)
	c = settle(c, stored, now)
	if stored == nil {
		*conds = append(*conds, c)
		return true
	}
	same := sameCondition(*stored, stated(c, *stored))
	*stored = c
	return !same
}

// settle returns what c becomes where stored is, which is nil for a new type.
func settle(c metav1.Condition, stored *metav1.Condition, now time.Time) metav1.Condition {
	c.Reason, c.Message = fitReason(c.Reason), fitMessage(c.Message)
	if stored == nil {
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = wholeSecond(now)
		}
		return c
	}
	if c.ObservedGeneration != 0 && c.ObservedGeneration < stored.ObservedGeneration {
		return *stored
	}
	switch moved := c.Status != stored.Status; {
	case !moved && !stored.LastTransitionTime.IsZero():
		c.LastTransitionTime = stored.LastTransitionTime
	case c.LastTransitionTime.IsZero(), moved && sameSecond(&c.LastTransitionTime, &stored.LastTransitionTime):
		c.LastTransitionTime = wholeSecond(now)
	}
	return c
}

// stated returns c with the generation of stored where it states none.
func stated(c metav1.Condition, stored metav1.Condition) metav1.Condition {
	if c.ObservedGeneration == 0 {
		c.ObservedGeneration = stored.ObservedGeneration
	}
	return c
}

func find(conds []metav1.Condition, typ string) *metav1.Condition {
	for i := range conds {
		if conds[i].Type == typ {
			return &conds[i]
		}
	}
	return nil
}

// sameCondition compares all fields, times as the API stores them.
func sameCondition(a, b metav1.Condition) bool {
	return sameVerdict(a, b) && sameSecond(&a.LastTransitionTime, &b.LastTransitionTime)
}

// sameVerdict compares all fields but the transition time.
func sameVerdict(a, b metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.ObservedGeneration == b.ObservedGeneration &&
		a.Reason == b.Reason && a.Message == b.Message
}
