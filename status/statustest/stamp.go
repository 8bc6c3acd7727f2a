// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/status"
)

// Stamp reads the contract's fields from the status of o, for [Check]. A field
// that the status does not have is zero, also under a misspelt name. A nil
// object and a field with a value of another type are errors.
func Stamp(names status.FieldNames, o status.Object) (status.Stamp, error) {
	var s status.Stamp
	fields, err := statusOf(o)
	if err != nil {
		return s, err
	}
	for _, f := range []struct {
		name, usual string
		to          any
	}{
		{names.ObservedGeneration, "observedGeneration", &s.ObservedGeneration},
		{names.UpdatedAt, "updatedAt", &s.UpdatedAt},
		{names.StartedAt, "startedAt", &s.StartedAt},
		{names.FinishedAt, "finishedAt", &s.FinishedAt},
	} {
		name := cmp.Or(f.name, f.usual)
		raw := fields[name]
		if name == absent || raw == nil {
			continue
		}
		err := json.Unmarshal(raw, f.to)
		if err != nil {
			return status.Stamp{}, fmt.Errorf("status/statustest: stamp: status.%s: %w", name, err)
		}
	}
	return s, nil
}

// absent is the name of a field that a kind does not have.
const absent = "-"

// statusOf returns the encoded fields of o's status. It is nil for no status.
func statusOf(o status.Object) (map[string]json.RawMessage, error) {
	if isnil.Is(o) {
		return nil, errors.New("status/statustest: the object is nil; want an object as it was read")
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("status/statustest: %T: %w", o, err)
	}
	var object struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	err = json.Unmarshal(raw, &object)
	if err != nil {
		return nil, fmt.Errorf("status/statustest: the status of %T: %w", o, err)
	}
	return object.Status, nil
}
