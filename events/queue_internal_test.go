// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/events/internal/caller"
)

func inLine(name string, line int32) *object {
	o := &object{key: caller.Key{Name: name}}
	o.line.Store(line)
	return o
}

// TestQueue_HasEachTenthTurnForUpdates, and otherwise the lines in their order.
func TestQueue_HasEachTenthTurnForUpdates(t *testing.T) {
	q := &queue{}
	for range 20 {
		q.Push(inLine("first", firstLine))
	}
	for range 3 {
		q.Push(inLine("update", updateLine))
	}
	q.Push(inLine("next", nextLine))
	var at []int
	for i := 1; q.Len() > 0; i++ {
		name := q.Pop().key.Name
		if name == "next" {
			assert.Equal(t, 1, i, "the other API group comes before all")
		}
		if name == "update" {
			at = append(at, i)
		}
	}
	assert.Equal(t, []int{10, 20, 24}, at)
}

// TestQueue_MovesATouchedObjectUp, once.
func TestQueue_MovesATouchedObjectUp(t *testing.T) {
	q := &queue{}
	a := inLine("a", updateLine)
	b := inLine("b", updateLine)
	c := inLine("c", updateLine)
	q.Push(a)
	q.Push(b)
	q.Push(c)
	q.Touch(a)
	b.line.Store(firstLine)
	q.Touch(b)
	q.Touch(b)
	assert.Equal(t, 3, q.Len())
	assert.Same(t, b, q.Pop())
	assert.Same(t, a, q.Pop(), "in its place")
	assert.Same(t, c, q.Pop())
	assert.Zero(t, q.Len())
	q.Push(b)
	assert.Same(t, b, q.Pop(), "its old place is passed over")
}

// TestQueue_HasEachTenthTurnForWhatFails, and otherwise updates come before.
func TestQueue_HasEachTenthTurnForWhatFails(t *testing.T) {
	q := &queue{}
	for range 15 {
		q.Push(inLine("update", updateLine))
		q.Push(inLine("failing", failingLine))
	}
	var at []int
	for i := 1; i <= 17; i++ {
		if q.Pop().key.Name == "failing" {
			at = append(at, i)
		}
	}
	assert.Equal(t, []int{5, 15}, at)
}
