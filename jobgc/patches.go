// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/proompteng/controllerkit/jobgc/internal/finalizer"
)

// operation is one step of a JSON patch (RFC 6902).
type operation = finalizer.Operation

func testUID(job *batchv1.Job) operation {
	return operation{Op: "test", Path: "/metadata/uid", Value: job.UID}
}

func testVersion(job *batchv1.Job) operation {
	return operation{Op: "test", Path: "/metadata/resourceVersion", Value: job.ResourceVersion}
}

func setTTL(seconds *int32) operation {
	// add replaces too, and null removes
	return operation{Op: "add", Path: "/spec/ttlSecondsAfterFinished", Value: seconds}
}

// current is the Job that the machine works on.
func (c *call) current() *batchv1.Job {
	job := c.job(c.machine.found.job)
	if job == nil {
		job = c.live
	}
	if job == nil {
		job = c.cached
	}
	return job
}

// marks is the patch that gives a Job what Step gives to each Job that it
// creates. The test of the version lets it set whole maps and lists.
func (c *call) marks() []operation {
	job := c.current()
	notes := maps.Clone(job.Annotations)
	if notes == nil {
		notes = map[string]string{}
	}
	has := job.Spec.TTLSecondsAfterFinished
	notes[annotation] = c.judge.retention.text()
	if has != nil {
		notes[askedAnnotation] = strconv.Itoa(int(*has))
	}
	ops := []operation{testUID(job), testVersion(job), setAnnotations(notes)}
	if c.machine.found.job.ttl.early {
		ops = append(ops, setTTL(c.judge.retention.atCreation(has)))
	}
	name := c.judge.finalizer
	if name != "" && !hasFinalizer(job, name) {
		keepers := append(slices.Clone(job.Finalizers), name)
		ops = append(ops, operation{Op: "add", Path: "/metadata/finalizers", Value: keepers})
	}
	return ops
}

// raising is the patch of a TTL that could delete the Job before its outcome is
// recorded.
func (c *call) raising() []operation {
	job := c.current()
	return []operation{testUID(job), setTTL(c.judge.retention.atCreation(job.Spec.TTLSecondsAfterFinished))}
}

// steering is the patch that sets spec.suspend.
func (c *call) steering() []operation {
	suspend := operation{Op: "add", Path: "/spec/suspend", Value: c.asked == requestSuspend}
	return []operation{testUID(c.current()), suspend}
}

// releasing is the patch that sets the final TTL, counted from now, records the
// release on the Job, and removes the finalizer. A TTL that another client sets
// later stays.
func (c *call) releasing() []operation {
	job := c.current()
	facts := c.machine.found.job
	ops := []operation{testUID(job)}
	if c.machine.finalTTLIsDue() {
		judge := c.judge
		judge.asked = c.askedAgain(job)
		ops = append(ops, setTTL(judge.final(job, StateOf(job))))
	}
	if facts.state == Finished && !facts.released {
		ops = append(ops, noteRelease(job, c.judge.now)...)
	}
	if facts.held {
		ops = append(ops, finalizer.Removal(job.Finalizers, c.judge.finalizer)...)
	}
	return ops
}

// noteRelease records the release on the Job.
func noteRelease(job *batchv1.Job, now time.Time) []operation {
	at := now.UTC().Format(time.RFC3339)
	if job.Annotations == nil {
		// The patch must fail if another client adds the first annotation.
		return []operation{testVersion(job), setAnnotations(map[string]string{releasedAnnotation: at})}
	}
	path := "/metadata/annotations/" + strings.ReplaceAll(releasedAnnotation, "/", "~1")
	return []operation{{Op: "add", Path: path, Value: at}}
}

// setAnnotations replaces all annotations.
func setAnnotations(to map[string]string) operation {
	return operation{Op: "add", Path: "/metadata/annotations", Value: to}
}
