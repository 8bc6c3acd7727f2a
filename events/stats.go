// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

// The causes of lost events: keys of Stats.Lost.
const (
	// LostQueueFull: MaxObjects was reached, and the object was evicted or was
	// not added.
	LostQueueFull = "QueueFull"
	// LostSeriesFull: an object had 64 series, or all objects together four
	// times MaxObjects, and the series was dropped or was not added.
	LostSeriesFull = "SeriesFull"
	// LostRejected: a wrong type, a reason that is empty or over 128 bytes, an
	// action over 128 bytes, annotations that are not accepted, or an Event
	// that the API server found invalid.
	LostRejected = "Rejected"
	// LostForbidden: not written before RunWith ended, because neither group of
	// events is granted or served.
	LostForbidden = "Forbidden"
	// LostNamespaceGone: the namespace is absent or terminating.
	LostNamespaceGone = "NamespaceGone"
	// LostNoReference: a nil object, or one without metadata or a known kind.
	LostNoReference = "NoReference"
	// LostShutdown: recorded after RunWith returned, or not written before it
	// ended.
	LostShutdown = "Shutdown"
)

// The results that Options.OnResult is called with.
const (
	// ResultEmitted is Stats.Written: an Event was created, or its series
	// updated.
	ResultEmitted = "emitted"
	// ResultAggregated is an occurrence without a separate write that is not
	// lost: a repeat, or a conflict that a retry is expected to resolve.
	ResultAggregated = "aggregated"
	// ResultDropped is the sum of Stats.Lost.
	ResultDropped = "dropped"
)

// Stats counts since New.
type Stats struct {
	// Recorded counts all calls that had something to record; none while
	// Disabled.
	Recorded int64
	// Written counts the writes that succeeded: Events created and series
	// updated.
	Written int64
	// Pending counts occurrences that no write has reported yet.
	Pending int64
	// Lost counts occurrences that no Event reports, by cause. Causes that
	// never occurred are absent.
	Lost map[string]int64
	// Retried counts requests that failed and were or will be made again.
	Retried int64
}

// Stats returns a snapshot; zero on a nil *Recorder.
func (r *Recorder) Stats() (s Stats) {
	if r == nil || r.engine == nil {
		return Stats{}
	}
	r.locked(func() {
		s = r.stats
		s.Lost = make(map[string]int64)
		for cause, l := range r.losses {
			s.Lost[cause] = l.total
		}
	})
	return s
}
