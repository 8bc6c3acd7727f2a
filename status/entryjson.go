// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file encodes conditions as canonical JSON. It is in nearly every patch, and encoding/json would take more memory
// for it than for all the rest.

// room is about how many bytes the JSON of list takes.
func room(list []entry) (size int) {
	for _, e := range list {
		size += 128 + len(e.Type) + len(e.Reason) + len(e.Message)
	}
	return size
}

// appendEntries appends a list that is not empty, and reports whether the API server would store it as another one than was.
func appendEntries(b []byte, was, list []entry) (_ []byte, differs bool, err error) {
	differs = len(was) != len(list)
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		start := len(b)
		if b, err = appendEntry(b, e); err != nil {
			return b, false, err
		}
		if differs {
			continue
		}
		end := len(b)
		if b, err = appendEntry(b, was[i]); err != nil { // only to compare
			return b, false, err
		}
		differs = !bytes.Equal(b[start:end], b[end:])
		b = b[:end]
	}
	return append(b, ']'), differs, nil
}

func appendEntry(b []byte, e entry) ([]byte, error) {
	if e.raw == nil && e.bad == nil {
		return appendCondition(b, e.Condition), nil
	}
	return appendTree(b, e.raw, 0)
}

// appendCondition appends what canonical makes of json.Marshal.
func appendCondition(b []byte, c metav1.Condition) []byte {
	b = append(b, '{')
	if !c.LastTransitionTime.IsZero() {
		b = append(appendTime(append(b, `"lastTransitionTime":`...), &c.LastTransitionTime), ',')
	}
	b = append(appendText(append(b, `"message":`...), c.Message), ',')
	if c.ObservedGeneration != 0 {
		b = append(strconv.AppendInt(append(b, `"observedGeneration":`...), c.ObservedGeneration, 10), ',')
	}
	b = append(appendText(append(b, `"reason":`...), c.Reason), ',')
	b = append(appendText(append(b, `"status":`...), string(c.Status)), ',')
	return append(appendText(append(b, `"type":`...), c.Type), '}')
}
