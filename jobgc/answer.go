// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "k8s.io/apimachinery/pkg/types"

// request is what the machine needs to go on.
type request string

const (
	requestNone    request = ""
	requestBuild   request = "build the Job"
	requestOwner   request = "read the owner"
	requestRead    request = "read the Job"
	requestCreate  request = "create the Job"
	requestMark    request = "mark the Job"    // give it what Step gives to each Job that it creates
	requestRaise   request = "raise the TTL"   // until the outcome is recorded
	requestSuspend request = "suspend the Job" // stop its pods
	requestResume  request = "resume the Job"
	requestRelease request = "release the Job" // set the final TTL and take off the finalizer
	requestDelete  request = "delete the Job"
)

// verdict is how a request ended.
type verdict string

const (
	verdictDone        verdict = "done"
	verdictGone        verdict = "gone"        // the API server has no such object
	verdictTaken       verdict = "taken"       // the name belongs to a Job
	verdictDenied      verdict = "denied"      // by a policy or a webhook
	verdictInvalid     verdict = "invalid"     // a test of the patch failed, or its result is not valid
	verdictTerminating verdict = "terminating" // the namespace is being deleted
	verdictRefused     verdict = "refused"     // for another reason, or the Job cannot be built
	verdictUnknown     verdict = "unknown"     // no answer of the API server came
)

// answer is the result of a request.
type answer struct {
	verdict verdict
	job     jobFacts // of the requests that return the Job
	same    bool     // the Job is still as the refused patch was made for
	owner   owner    // of requestOwner
}

// failure is why a call ends with an error.
type failure string

const (
	failureNone    failure = ""
	failureRequest failure = "request" // the last request
	failureBuild   failure = "build"   // the Job could not be built, and does not exist
	failureCreate  failure = "create"  // the creation was refused, and the Job does not exist
	failureRelease failure = "release" // the release was refused; the finding is still the result
	failureTaken   failure = "taken"   // the name belongs to a Job that the owner does not control
	failureForeign failure = "foreign" // another object controls the Job of the Ref
	failureDeleted failure = "deleted" // the Job was deleted during the call
	failureBarred  failure = "barred"  // the owner has a Job of another origin
)

// again is when to look again if nothing happens before.
type again string

const (
	againEvent   again = ""        // an event comes
	againSoon    again = "soon"    // the cache lags, or the next step is due
	againSettled again = "settled" // the delete event is on the way
	againLater   again = "later"   // no event may come
)

// notes is what the Guard has to remember after a step.
type notes struct {
	uid    types.UID // of the Job that absent, missed, loss, agreed, sent and given are about
	seen   jobFacts  // a Job whose owner may not have recorded it
	absent bool      // the run has ended, and the cache lacks the Job
	missed bool      // a live read did not find the Job
	loss   State     // a live read of the owner has confirmed this loss
	agreed bool      // the stored owner is as the caller's copy
	sent   jobFacts  // the copy in the cache of a Job that was released
	unsure bool      // a creation has got no answer
	given  wish      // whether the Job whose new Ref the call returns is to be suspended

	// unchanged: the API server refuses what Step gives to each Job.
	unchanged bool
}
