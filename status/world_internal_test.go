// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The world of the search: one object, two controllers with one Writer each,
// and a person. The object has a truth that only grows: 1 is waiting, 2 is
// running, 3 is done. A reconcile reports the truth of the copy that it read.
// The first controller reports it by a phase, the times and a condition Ready,
// the second one by a condition Other.

const (
	first  = 0 // owns the spec
	second = 1

	maxVersions = 10 // of the object that a controller may still read, and the stored one
	maxAnswers  = 6  // of the API server in one Commit
)

// verdict is a condition. The zero verdict is none.
type verdict struct{ truth, generation, since uint8 }

// object is a version of the object. Times are in seconds of the world; 0 is
// none.
type object struct {
	uid, version, generation             uint8 // uid 0: it does not exist
	truth                                uint8
	observed, updated, started, finished uint8
	phase                                uint8
	ready, other                         verdict
}

// crd is what the CRD's schema does with the phase.
type crd uint8

const (
	keeps    crd = iota
	prunes       // it does not know the phase
	defaults     // a status without a phase gets defaultPhase
)

const defaultPhase = 9

// fault is what happens to a request.
type fault uint8

const (
	answered   fault = iota
	lost             // it never arrives
	unanswered       // it is done, and the answer is lost
	late             // it gets no answer, and may be done later
)

// answer is what the API server said to one request.
type answer struct {
	kind   answerKind
	object object
}

type answerKind uint8

const (
	noAnswer answerKind = iota
	done200
	conflict409
	missing404
)

// call is a Commit under way. It has made as many requests as it has answers,
// and waits with the next one.
type call struct {
	active  bool
	bare    bool
	before  object
	at      uint8 // seconds of the world
	answers [maxAnswers]answer
	count   uint8
}

// controller is one process.
type controller struct {
	call   call
	memory memory // of its Writer
	cache  uint8  // the index of the oldest version that it may read
	sent   uint8  // a bit for each phase that it has sent to a schema that prunes it
}

// memory is what a Writer knows of an object.
type memory struct {
	uid        uint8 // of the object; 0 for nothing
	newest     uint8
	unanswered uint8
	handed     object // the copy, not its hash; uid 0 for none
	unkept     uint16 // an index of commits.unkept
}

// lateWrite is a patch that the API server may still do. It is pinned to a
// version, so that its outcome is known.
type lateWrite struct {
	by     int8 // -1 for none
	isNews bool // it may change only updatedAt
	after  object
}

// state is all of the world.
type state struct {
	history  [maxVersions]object // the last one is stored
	versions uint8
	uids     uint8 // the newest one
	seconds  uint8 // counts reconciles, so that each has its own time
	late     lateWrite
	crd      crd

	controllers [2]controller
	count       uint8    // of controllers
	wrote       [2]uint8 // the version of the last write of each
	bare        bool     // the first controller reports no phase

	crashes, faults, acts, ages uint8 // left

	forgot  forgetting
	wentOld bool // a Writer accepted a copy that is older than its own write, as documented
	wrong   wrong
}

// forgetting is why a Writer has lost its memory.
type forgetting uint8

const (
	never forgetting = iota
	byCrash
	byAge
)

// wrong names the rule that a step broke.
type wrong uint8

const (
	nothing    wrong = iota
	mixed            // the phase and the condition are of two reconciles
	moved            // a time has moved
	wentBack         // a verdict of a newer reconcile was replaced
	staleCopy        // a Commit from a copy older than its Writer's last write
	forNothing       // a write changed only updatedAt
	generationBack
	tooMany // requests in one Commit, or versions
)

func (w wrong) String() string {
	return [...]string{
		"", "phase and Ready are of two reconciles", "a time has moved", "an older verdict replaced a newer one", "a stale copy was accepted",
		"a write changed only updatedAt", "observedGeneration went back", "too many requests or versions",
	}[w]
}

func (s *state) stored() object { return s.history[s.versions-1] }

var worldBegin = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func clockOf(second uint8) time.Time { return worldBegin.Add(time.Duration(second) * time.Second) }

func secondOf(text any) uint8 {
	t, err := time.Parse(time.RFC3339, fmt.Sprint(text))
	if err != nil {
		return 0
	}
	return uint8(t.Sub(worldBegin) / time.Second)
}

// tree is the status of o.
func (o object) tree() map[string]any {
	status := map[string]any{}
	set := func(name string, second uint8) {
		if second != 0 {
			status[name] = clockOf(second).Format(time.RFC3339)
		}
	}
	set("updatedAt", o.updated)
	set("startedAt", o.started)
	set("finishedAt", o.finished)
	if o.observed != 0 {
		status["observedGeneration"] = int64(o.observed)
	}
	if o.phase != 0 {
		status["phase"] = strconv.Itoa(int(o.phase))
	}
	var list []any
	for typ, v := range map[string]verdict{"Other": o.other, "Ready": o.ready} {
		if v.truth != 0 {
			list = append(list, conditionTree(typ, v))
		}
	}
	if len(list) == 2 && list[0].(map[string]any)["type"] == "Ready" {
		list[0], list[1] = list[1], list[0] // one order, so that states are equal
	}
	if list != nil {
		status["conditions"] = list
	}
	return status
}

func conditionTree(typ string, v verdict) map[string]any {
	status := "False"
	if v.truth == 3 {
		status = "True"
	}
	return map[string]any{
		"type": typ, "status": status, "reason": "T" + strconv.Itoa(int(v.truth)), "message": "",
		"observedGeneration": int64(v.generation), "lastTransitionTime": clockOf(v.since).Format(time.RFC3339),
	}
}

// with returns o with another status.
func (o object) with(status map[string]any) object {
	number := func(v any) uint8 { n, _ := v.(int64); return uint8(n) }
	next := object{uid: o.uid, version: o.version, generation: o.generation, truth: o.truth}
	next.observed = number(status["observedGeneration"])
	next.updated = secondOf(status["updatedAt"])
	next.started = secondOf(status["startedAt"])
	next.finished = secondOf(status["finishedAt"])
	phase, _ := status["phase"].(string)
	n, _ := strconv.Atoi(phase)
	next.phase = uint8(n)
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		c, _ := item.(map[string]any)
		reason, _ := c["reason"].(string)
		truth, _ := strconv.Atoi(reason[1:])
		v := verdict{uint8(truth), number(c["observedGeneration"]), secondOf(c["lastTransitionTime"])}
		if c["type"] == "Ready" {
			next.ready = v
		} else {
			next.other = v
		}
	}
	return next
}

// untyped is o for a client.
func (o object) untyped() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"kind": "Run", "spec": map[string]any{}, "status": o.tree()}}
	u.SetName("a")
	u.SetUID(types.UID(strconv.Itoa(int(o.uid))))
	u.SetGeneration(int64(o.generation))
	u.SetResourceVersion(strconv.Itoa(int(o.version)))
	return u
}
