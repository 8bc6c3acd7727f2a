// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"testing"

	"github.com/proompteng/controllerkit/status"
)

// Run tests k against each rule of the contract, in a subtest of that name. A
// failure says what happened, and which rule the kind, its client or its Writer
// broke. Each subtest has a new object. The subtests are
//
//   - FirstWrite, NewSpec, Terminal: what a write stores,
//   - Idle: no write without a change,
//   - Before, After: what Commit does to its arguments,
//   - OtherField, SameField, Superseded, Recreated, StaleCopy: two writers,
//   - Pruned, Defaulted, Nullable, Required, Refused: what the schema of a CRD
//     changes or forbids.
//
// Run logs each case that it leaves out with the reason: a name is "-", or
// NoSchema or NoConflicts is set. A case that is left out without a reason is a
// failure.
func Run[T status.Object](t *testing.T, k Kind[T]) {
	t.Helper()
	k, err := k.complete()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases[T]() {
		reason := c.leftOut(k)
		if reason != "" {
			t.Logf("%s is left out: %s", c.name, reason)
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			c.run(&trial[T]{T: t, Kind: k, rule: c.rule})
		})
	}
}

// testCase is a rule of the contract.
type testCase[T status.Object] struct {
	name string
	rule string
	run  func(*trial[T])

	needsField     func(status.FieldNames) string // nil for none
	needsConflicts bool
	needsFunction  func(Kind[T]) func(T) // of the schema's cases
}

// leftOut returns the reason to leave out the case, or "".
func (c testCase[T]) leftOut(k Kind[T]) string {
	switch {
	case c.needsField != nil && c.needsField(k.FieldNames) == absent:
		return `the field's name is "-"`
	case c.needsFunction != nil && c.needsFunction(k) == nil:
		return k.NoSchema
	case c.needsConflicts:
		return k.NoConflicts
	}
	return ""
}

func cases[T status.Object]() []testCase[T] {
	return []testCase[T]{
		{
			name: "FirstWrite",
			rule: "the first write stores what the reconcile set, the generation that it read, " +
				"updatedAt, and startedAt if the object is Running",
			run: (*trial[T]).firstWrite,
		},
		{
			name: "Idle",
			rule: "a reconcile that changes nothing writes nothing, updatedAt included",
			run:  (*trial[T]).idle,
		},
		{
			name: "Before",
			rule: "before may be the cache's copy: Commit does not change it",
			run:  (*trial[T]).keepsBefore,
		},
		{
			name: "After",
			rule: "after a write, after equals the stored object, so that the reconcile can go on from it",
			run:  (*trial[T]).fillsAfter,
		},
		{
			name:       "NewSpec",
			rule:       "observedGeneration is the generation that the reconcile read, not the stored one",
			run:        (*trial[T]).newSpec,
			needsField: generationField,
		},
		{
			name:       "Terminal",
			rule:       "startedAt and finishedAt are set once and never move",
			run:        (*trial[T]).terminal,
			needsField: timeField,
		},
		{
			name:           "OtherField",
			rule:           "a write keeps what another program has changed since the read",
			run:            (*trial[T]).otherField,
			needsConflicts: true,
		},
		{
			name:           "SameField",
			rule:           "a field that another program has changed since the read stays: ErrFieldConflict",
			run:            (*trial[T]).sameField,
			needsConflicts: true,
		},
		{
			name:           "Superseded",
			rule:           "a status of a newer generation stays: ErrSuperseded",
			run:            (*trial[T]).superseded,
			needsField:     generationField,
			needsConflicts: true,
		},
		{
			name:           "Recreated",
			rule:           "a later object of the same name is not written: ErrReplaced",
			run:            (*trial[T]).recreated,
			needsConflicts: true,
		},
		{
			name:           "StaleCopy",
			rule:           "a copy older than the Writer's last write is refused: ErrStaleRead",
			run:            (*trial[T]).staleCopy,
			needsConflicts: true,
		},
		{
			name:          "Pruned",
			rule:          "a field that the API server does not keep is one error and one write",
			run:           (*trial[T]).pruned,
			needsFunction: func(k Kind[T]) func(T) { return k.Pruned },
		},
		{
			name:          "Defaulted",
			rule:          "a default of the schema is neither an error nor a change",
			run:           (*trial[T]).defaulted,
			needsFunction: func(k Kind[T]) func(T) { return k.Defaulted },
		},
		{
			name:          "Nullable",
			rule:          "a required field that is null is an error: a merge patch has no null",
			run:           (*trial[T]).nullable,
			needsFunction: func(k Kind[T]) func(T) { return k.Nullable },
		},
		{
			name:          "Required",
			rule:          "a field that the schema requires is written also if it is zero",
			run:           (*trial[T]).required,
			needsFunction: func(k Kind[T]) func(T) { return k.Required },
		},
		{
			name: "Refused",
			rule: "a field that the API server refuses does not hold back the verdict: the conditions " +
				"and times are stored, with StatusTruncated until the status is whole",
			run:           (*trial[T]).refused,
			needsField:    markField,
			needsFunction: func(k Kind[T]) func(T) { return k.Refused },
		},
	}
}

func generationField(n status.FieldNames) string { return n.ObservedGeneration }

// markField is one of the fields that StatusTruncated needs.
func markField(n status.FieldNames) string {
	if n.Conditions == absent {
		return n.Conditions
	}
	return n.ObservedGeneration
}

// timeField is one of the times that never move.
func timeField(n status.FieldNames) string {
	if n.StartedAt == absent {
		return n.FinishedAt
	}
	return n.StartedAt
}
