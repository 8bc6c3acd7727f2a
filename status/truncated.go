// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StatusTruncated is the type of the condition that Commit sets when it writes
// only the conditions and the times, because the API server refused a field of
// the status. Its status is True and its message names the field. The next
// Commit that writes the whole status removes it.
const StatusTruncated = "StatusTruncated"

// The reasons of the condition.
const (
	reasonTooLarge = "TooLarge"
	reasonInvalid  = "Invalid"
)

// refusal is what the API server refused in a status.
type refusal struct {
	reason string
	fields string // their paths
}

// refusalOf finds the fields to leave out after err. There is none if the
// conditions alone would be refused as well.
func (c *change) refusalOf(err error) (r refusal, ok bool) {
	if c.names.Conditions == absent {
		return refusal{}, false
	}
	if isTooLarge(err) {
		return refusal{reasonTooLarge, "status." + c.largestField()}, true
	}
	paths := c.invalidFields(err)
	return refusal{reasonInvalid, strings.Join(paths, ", ")}, len(paths) > 0
}

// isTooLarge reports whether an object is too large for the API server, which
// answers 413, or for its store, whose error comes as a 500: etcd refuses
// 1.5 MiB, and its client 2 MiB.
func isTooLarge(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	status := answer.Status()
	switch {
	case status.Code == http.StatusRequestEntityTooLarge,
		strings.Contains(status.Message, "request is too large"),
		strings.Contains(status.Message, "trying to send message larger than max"):
		return true
	}
	return false
}

// largestField is the name of the largest field that is not of the contract.
func (c *change) largestField() string {
	largest := ""
	size := 0
	for _, name := range slices.Sorted(maps.Keys(c.after.content.fields)) {
		length := len(encode(c.after.content.fields[name]))
		if length > size && !c.names.has(name) {
			largest = name
			size = length
		}
	}
	return largest
}

// unchecked is a part of a cause that the API server adds to others: rules that
// it did not get to.
const unchecked = "some validation rules were not checked"

// invalidFields are the fields of the status that a 422 names. There are none
// if it also names a condition, a field of the contract, or something outside
// of the status.
func (c *change) invalidFields(err error) []string {
	var answer apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &answer) || answer.Status().Details == nil {
		return nil
	}
	var paths []string
	for _, cause := range answer.Status().Details.Causes {
		if strings.Contains(cause.Message, unchecked) {
			continue
		}
		path, isStatus := strings.CutPrefix(cause.Field, "status.")
		end := strings.IndexAny(path, ".[")
		if end >= 0 {
			path = path[:end]
		}
		if !isStatus || c.names.has(path) {
			return nil
		}
		paths = append(paths, "status."+path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// truncate makes after the stored status with after's conditions and times, and
// with a condition that names the fields that are left out. observedGeneration
// moves only with work that is done, because the status of this generation is
// not whole.
func (c *change) truncate(r refusal) {
	c.after.content.fields = maps.Clone(c.base.content.fields)
	c.heartbeat = 0
	if c.Progress != Done {
		c.after.stamp.ObservedGeneration = c.base.stamp.ObservedGeneration
	}
	if !c.ownsMark() {
		return
	}
	mark := conditionOf(map[string]any{
		typeField:    StatusTruncated,
		statusField:  string(metav1.ConditionTrue),
		reasonField:  r.reason,
		messageField: "the API server refused " + r.fields + "; only conditions and times are written",
	})
	mark.of = conditionFieldsOf(c.after.field(c.names.Conditions))
	c.after.content.conditions.items = append(c.after.content.conditions.items, mark)
}

// ownsMark reports whether this controller sets and removes StatusTruncated. A
// second controller of the object, which does not own observedGeneration, does
// not.
func (c *change) ownsMark() bool { return c.names.ObservedGeneration != absent }

// removeMark removes StatusTruncated from after: its status is whole.
func (c *change) removeMark() {
	if !c.ownsMark() {
		return
	}
	list := &c.after.content.conditions
	list.items = slices.DeleteFunc(list.items, func(e condition) bool { return e.Type == StatusTruncated })
}

// hasMark reports whether the status has StatusTruncated, without decoding it
// where that is usual.
func (d *document) hasMark(listName string) bool {
	field := d.field(listName)
	list, isNative := field.(*[]metav1.Condition)
	if isNative {
		return findCondition(*list, StatusTruncated) != nil
	}
	return strings.Contains(string(encode(field)), `"`+StatusTruncated+`"`)
}

// truncated writes the verdict without the fields that the API server refused
// with an error. It makes one request, or none if it would change nothing.
func (w Writer) truncated(ctx context.Context, c *change, r refusal, refused error) (Result, error) {
	name := nameOf(c.base.object)
	refused = fmt.Errorf("status: commit: patching %s with %s: %w; only conditions and times are written",
		name, r.fields, c.after.explainNulls(refused))
	c.truncate(r)
	data, err := c.plan()
	if err != nil || data == nil {
		return "", errors.Join(refused, err)
	}
	reply, err := w.send(ctx, request{object: c.base.object, subresource: "status", data: data})
	if apierrors.IsConflict(err) && c.isPending {
		return "", errors.Join(refused, c.refusePending())
	}
	if err != nil {
		if isUnanswered(err) {
			w.client.writes.lost(w.keyOf(c), versionOf(c.base.object), w.clock())
		}
		err = fmt.Errorf("status: commit: patching the conditions of %s: %w", name, err)
		return "", errors.Join(refused, err)
	}
	result, err := w.adopt(c, reply)
	return result, errors.Join(refused, err)
}
