// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// Patched applies a JSON patch (RFC 6902) of the fields that a Guard writes. It
// returns false if the API server would refuse the patch.
func Patched(job *batchv1.Job, data []byte) (*batchv1.Job, bool) {
	var ops []operation
	if json.Unmarshal(data, &ops) != nil {
		return nil, false
	}
	job = job.DeepCopy()
	for _, op := range ops {
		if !applied(job, op) {
			return nil, false
		}
	}
	return job, true
}

func applied(job *batchv1.Job, op operation) bool {
	switch op.Op {
	case "test":
		return tested(job, op)
	case "remove":
		return removed(job, op)
	case "add":
		return added(job, op)
	}
	return false
}

func tested(job *batchv1.Job, op operation) bool {
	switch op.Path {
	case "/metadata/uid":
		return op.Value == string(job.UID)
	case "/metadata/resourceVersion":
		return op.Value == job.ResourceVersion
	}
	i, held := finalizerAt(job, op.Path)
	return held && op.Value == job.Finalizers[i]
}

func removed(job *batchv1.Job, op operation) bool {
	i, held := finalizerAt(job, op.Path)
	if held {
		job.Finalizers = slices.Delete(job.Finalizers, i, i+1)
	}
	return held
}

func finalizerAt(job *batchv1.Job, path string) (i int, held bool) {
	_, err := fmt.Sscanf(path, "/metadata/finalizers/%d", &i)
	return i, err == nil && i < len(job.Finalizers)
}

func added(job *batchv1.Job, op operation) bool {
	note, isNote := strings.CutPrefix(op.Path, "/metadata/annotations/")
	switch {
	case isNote && job.Annotations == nil:
		return false
	case isNote:
		job.Annotations[strings.ReplaceAll(note, "~1", "/")] = op.Value.(string)
	case op.Path == "/metadata/annotations":
		job.Annotations = map[string]string{}
		for key, value := range op.Value.(map[string]any) {
			job.Annotations[key] = value.(string)
		}
	case op.Path == "/metadata/finalizers":
		job.Finalizers = nil
		for _, name := range op.Value.([]any) {
			job.Finalizers = append(job.Finalizers, name.(string))
		}
	case op.Path == "/spec/suspend":
		job.Spec.Suspend = ptr.To(op.Value == true)
	case op.Path == "/spec/ttlSecondsAfterFinished" && op.Value == nil:
		job.Spec.TTLSecondsAfterFinished = nil
	case op.Path == "/spec/ttlSecondsAfterFinished":
		job.Spec.TTLSecondsAfterFinished = ptr.To(int32(op.Value.(float64)))
	default:
		return false
	}
	return true
}
