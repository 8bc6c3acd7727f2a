// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// maxSceneLines is how long a scene may be: one screen.
const maxSceneLines = 60

// TestScenes plays the scenes in testdata/scenes. Each shows one rule of a
// whole call of Step: its requests in their order, its result, and the stored
// objects afterwards. After each command no rule of the package may be
// broken. With -rewrite the test writes the output into the scenes.
//
// The commands are:
//
//   - start: the options, a second replica (two), and whether the scene shows a
//     documented way to run twice (gap)
//   - step: a reconcile, by a or b. With sync its caches are up to date. With
//     postpone the caller does not write the first Ref yet. A request has a
//     fault, as in create=lost: waits, refused, denied, invalid, lost (it never
//     arrives), unanswered (it is done), late (it is done at arrive),
//     killed-before, killed-after. The requests are owner and job (reads),
//     create, patch, delete, and write (of the status). With build=fails the
//     Job cannot be built.
//   - continue: a request that waits goes on
//   - sync: the caches of a replica: owner, jobs, or both
//   - crash: a replica starts again
//   - wait: time passes, and the TTL controller works
//   - repeat: reconciles until nothing changes, and shows the requests
//   - show: the stored objects
//   - job, owner, put, gc, sweep: what others do
//
// Read first: run, failed, crash-2-after-the-creation,
// crash-4-before-the-outcome, late-cache, lost, cancel, adoption, hold, and
// two-replicas.
//
//req:shows J2 J3 J4
func TestScenes(t *testing.T) {
	files, err := filepath.Glob("testdata/scenes/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playScene(t, file) })
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.True(t, bytes.HasPrefix(text, []byte("# ")), "begin with a comment that states the rule")
			assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), maxSceneLines, "make two scenes of it")
		})
	}
}

// scene is what a scene has started.
type scene struct {
	*sceneServer

	options   jobgc.Options
	template  *int32 // ttlSecondsAfterFinished of the Job as built
	jobName   string // Request.Name
	uncached  bool
	older     bool // the owner is older than the Guard
	second    bool // there is a replica b
	gap       bool // work runs twice, as documented
	processes map[string]*process
	brief     bool // requests only
	out       strings.Builder
}

func playScene(t *testing.T, file string) {
	t.Helper()
	s := &scene{}
	defer func() {
		for _, p := range s.processes {
			p.kill()
		}
	}()
	datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		s.out.Reset()
		if s.sceneServer == nil {
			require.Equal(t, "start", d.Cmd, "the first command is start")
			s.start(t, d)
		} else {
			s.do(t, d)
		}
		s.check(t, d)
		return s.out.String()
	})
	require.NotNil(t, s.sceneServer, "no command")
	s.end(t)
}

// end lets the requests that wait go on.
func (s *scene) end(t *testing.T) {
	t.Helper()
	for _, p := range s.processes {
		if p.busy {
			p.goes <- struct{}{}
			synctest.Wait()
		}
	}
	assert.Empty(t, s.wrong, "at the end")
	assert.Equal(t, s.gap, len(s.twice()) > 0, "start gap: the work runs twice")
}

// check holds the scene to the rules that are true at any time.
func (s *scene) check(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	assert.Empty(t, s.wrong, d.Pos)
	if !s.gap {
		assert.Empty(t, s.twice(), "%s: the work ran twice", d.Pos)
	}
}

func (s *scene) say(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

// start begins a scene.
func (s *scene) start(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	hour := argTime(t, d, "ttl", time.Hour)
	s.options.Retention = jobgc.Retention{SucceededTTL: hour, FailedTTL: hour}
	if d.HasArg("finalizer") {
		s.options.Finalizer = "example.com/result"
	}
	if d.HasArg("template") {
		s.template = ptr.To(int32(argTime(t, d, "template", 0) / time.Second))
	}
	s.jobName = argText(t, d, "name")
	s.uncached = d.HasArg("uncached")
	s.older = d.HasArg("older")
	s.second = d.HasArg("two")
	s.gap = d.HasArg("gap")
	s.sceneServer = newSceneServer()
	s.policy = argTime(t, d, "policy", 0)
	if s.older {
		s.owner.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	}
	s.processes = map[string]*process{"a": newProcess(t, s, "a")}
	if s.second {
		s.processes["b"] = newProcess(t, s, "b")
	}
}

// do runs a command after the first one.
func (s *scene) do(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	p := s.process(d)
	switch d.Cmd {
	case "step":
		s.step(t, d, p)
	case "sync":
		s.sync(d, p)
	case "continue":
		require.True(t, p.busy, "%s: no request waits", d.Pos)
		p.goes <- struct{}{}
		synctest.Wait()
		s.revive(t, p)
	case "crash":
		p.kill()
		synctest.Wait()
		s.revive(t, p)
	case "wait":
		s.wait(t, d)
	case "repeat":
		s.repeat(t)
	case "show":
		s.show()
	case "job":
		s.changeJob(t, d)
	case "owner":
		s.changeOwner(t, d)
	default:
		s.changeServer(t, d)
	}
}

// process is the replica that a command names; a if it names none.
func (s *scene) process(d *datadriven.TestData) *process {
	if d.HasArg("b") {
		return s.processes["b"]
	}
	return s.processes["a"]
}

// revive starts a process that was killed again.
func (s *scene) revive(t *testing.T, p *process) {
	t.Helper()
	if p.dead {
		s.processes[p.name] = newProcess(t, s, p.name)
	}
}

// step is a reconcile. It ends at a request that waits.
func (s *scene) step(t *testing.T, d *datadriven.TestData, p *process) {
	t.Helper()
	require.False(t, p.busy, "%s: the replica waits for a request", d.Pos)
	if d.HasArg("sync") {
		p.sync()
	}
	p.faults = map[string]string{}
	for _, arg := range d.CmdArgs {
		if len(arg.Vals) == 1 {
			p.faults[arg.Key] = arg.Vals[0]
		}
	}
	s.reconcile(t, p, d.HasArg("postpone"))
	if !p.busy {
		assert.Empty(t, p.faults, "%s: requests that were not made", d.Pos)
	}
	s.revive(t, p)
}

// reconcile begins a reconcile, and returns after how long it asks for the
// next.
func (s *scene) reconcile(t *testing.T, p *process, postpones bool) time.Duration {
	t.Helper()
	p.busy = true
	var after time.Duration
	go func() {
		after = p.reconcile(t.Context(), postpones)
		p.busy = false
	}()
	synctest.Wait()
	if p.busy {
		return 0
	}
	return after
}

// sync brings caches up to date.
func (s *scene) sync(d *datadriven.TestData, p *process) {
	switch {
	case d.HasArg("owner"):
		p.hearOwner()
	case d.HasArg("jobs"):
		p.hearJobs()
	default:
		p.sync()
	}
}

// wait lets time pass. The TTL controller works.
func (s *scene) wait(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	require.Len(t, d.CmdArgs, 1, d.Pos)
	passes, err := time.ParseDuration(d.CmdArgs[0].Key)
	require.NoError(t, err, d.Pos)
	s.pass(passes)
	expired := s.expire()
	if len(expired) > 0 {
		s.say("the TTL controller deletes %s", shownUIDs(expired))
	}
}

// pass lets time pass. A request that waits goes on when its time is over.
func (s *scene) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	for _, p := range s.processes {
		if p.busy && p.waits.Err() != nil {
			p.goes <- struct{}{}
			synctest.Wait()
		}
	}
}

// maxRounds is how often repeat reconciles.
const maxRounds = 30

// repeat reconciles with caches that are up to date until nothing changes. It
// shows the requests and the stored objects.
func (s *scene) repeat(t *testing.T) {
	t.Helper()
	s.brief = true
	defer func() { s.brief = false }()
	for round := 0; ; round++ {
		require.Less(t, round, maxRounds, "each round changes something")
		version := s.version
		again := s.round(t)
		if s.version == version && !again {
			break
		}
	}
	s.show()
	s.checkRest(t)
}

// round reconciles each replica once. It reports whether one asks to be called
// again soon.
func (s *scene) round(t *testing.T) bool {
	t.Helper()
	again := false
	for _, name := range []string{"a", "b"} {
		p := s.processes[name]
		if p == nil || p.busy {
			continue
		}
		p.sync()
		after := s.reconcile(t, p, false)
		again = again || 0 < after && after < 5*time.Second
	}
	s.pass(2 * time.Second)
	return again
}

// checkRest holds what is stored at rest to the rules.
func (s *scene) checkRest(t *testing.T) {
	t.Helper()
	if s.owner == nil || s.owner.end == "" || s.owner.ref == nil {
		return
	}
	for _, job := range s.jobs {
		if job.UID != s.owner.ref.UID {
			continue
		}
		f := jobgc.StateOf(job)
		cancelled := s.owner.end == string(jobgc.Cancelled)
		assert.Empty(t, job.Finalizers, "%s is still held", job.UID)
		stopped := ptr.Deref(job.Spec.Suspend, false) || f.State == jobgc.Finished
		assert.True(t, !cancelled || stopped, "%s still runs", job.UID)
		assert.False(t, cancelled && f.State != jobgc.Finished, "%s is still there", job.UID)
	}
}

// show prints what is stored.
func (s *scene) show() {
	if s.owner == nil {
		s.say("owner: none")
	} else {
		s.say("owner: %s", shownOwner(s.owner))
	}
	for _, name := range s.named() {
		s.say("%s: %s", name, shownJob(s.jobs[name]))
	}
}

// argText is the value of an argument; none if the command lacks it.
func argText(t *testing.T, d *datadriven.TestData, key string) string {
	t.Helper()
	var out string
	if d.HasArg(key) {
		d.ScanArgs(t, key, &out)
	}
	return out
}

func argTime(t *testing.T, d *datadriven.TestData, key string, def time.Duration) time.Duration {
	t.Helper()
	text := argText(t, d, key)
	if text == "" {
		return def
	}
	out, err := time.ParseDuration(text)
	require.NoError(t, err, d.Pos)
	return out
}

// word is the argument that is one of several words.
func word(t *testing.T, d *datadriven.TestData, of ...string) string {
	t.Helper()
	for _, arg := range d.CmdArgs {
		if slices.Contains(of, arg.Key) {
			return arg.Key
		}
	}
	require.Fail(t, "unknown argument", "%s: want one of %s", d.Pos, strings.Join(of, ", "))
	return ""
}
