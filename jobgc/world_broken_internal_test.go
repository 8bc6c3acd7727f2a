// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "strings"

// rule is a rule that is broken.
type rule int8

const (
	noRule rule = iota
	tooFewOwners
	tooFewChanges
	tooFewJobs
	releasedEarly
	deletedEarly
	wrongOutcome
	lostWhileThere
	lostUndeleted
	lostKnown
	otherRecorded
	tooManyRequests
	tooManyReads
	needlessRead
	needlessLook
	needlessPatch
	olderSpec
	unconfirmed
	createdBarred
	closedEarly
	falseObservation
	noReturn
	createdUnbuilt
	unread
	createdAgain
	adoptedUnmarked
	unclosed
	falseError
	noError
	unchanging
	oldAnswer
	tooSoon
	endedAgain
)

func (r rule) String() string {
	return [...]string{
		"", "the world is too small for its owners", "the world is too small for its changes",
		"the world is too small for its Jobs", "released before the record",
		"deleted a Job whose cancellation is not recorded", "recorded an outcome that the Job does not have",
		"a Job that exists is called lost", "a Job is lost that was not deleted",
		"a result is lost that the events brought", "another Job was recorded",
		"a call makes too many requests", "a call reads the owner too often", "a call reads the owner without need",
		"a call reads the Job without need",
		"a patch changes nothing", "a Job is suspended or resumed as an older spec of its owner says",
		"a loss is returned without a live read of the owner",
		"created a Job next to one of another origin",
		"the Ref says released, and the Job is not", "an observation is wrong", "nothing calls again",
		"created a Job that was not built", "released a Job without a read of the owner",
		"created a Job again whose end the events brought",
		"recorded a Job that lacks what Step gives to each Job",
		"nothing is left to do, and the Ref does not say so",
		"a call returns an error without a cause",
		"a request had no answer, and the call returns no error",
		"a call waits again and again for a delete event", "a call returns an older copy of the Job than it has read",
		"a call asks for the next one too soon", "the end of a run is returned again after the release of its Job",
	}[r]
}

// gap is a set of ways to run twice. The package comment names them.
type gap int8

const (
	stalled    gap = 1 << iota // a replica stalls between its read of the owner and the creation
	unwritten                  // others delete a Job before its Ref is written
	recreated                  // the owner goes during a creation, and is created again
	longerTTL                  // a TTL deletes a Job before its Ref is written
	fromBackup                 // the store was restored
)

func gaps() []gap { return []gap{stalled, unwritten, recreated, longerTTL, fromBackup} }

func (g gap) String() string {
	names := map[gap]string{
		stalled: "a stalled replica", unwritten: "a Job that others delete", recreated: "a recreated owner",
		longerTTL: "an early TTL", fromBackup: "a restored store",
	}
	var open []string
	for _, one := range gaps() {
		if g&one != 0 {
			open = append(open, names[one])
		}
	}
	return strings.Join(open, " and ")
}

// gapsOf are the gaps that alone let the work run twice.
func gapsOf(marks map[string]int) gap {
	reached := gap(0)
	for _, one := range gaps() {
		if marks[one.String()] > 0 {
			reached |= one
		}
	}
	return reached
}
