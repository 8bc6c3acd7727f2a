// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// backup is a copy of the API server's store.
type backup struct {
	run  *run
	jobs map[string]*batchv1.Job
	ran  map[types.UID]map[types.UID]bool
}

func (s *apiServer) copyStore() *backup {
	b := &backup{jobs: map[string]*batchv1.Job{}, ran: map[types.UID]map[types.UID]bool{}}
	if s.run != nil {
		b.run = s.run.clone()
	}
	for name, job := range s.jobs {
		b.jobs[name] = job.DeepCopy()
	}
	for owner, jobs := range s.executed {
		b.ran[owner] = maps.Clone(jobs)
	}
	s.note("backup")
	return b
}

// restoreStore puts the backup in place of the store. The objects have the
// versions of the backup, and later writes get higher ones than any before. The
// informers list again. Work that ran since the backup may run again. A Job
// that was created since then is gone, as if a person had deleted it. A person
// asks again for what the restore took back: late copies of the run have it.
func (s *apiServer) restoreStore() {
	b := s.backup
	s.note("restored")
	s.next()
	for _, job := range s.sorted() {
		kept := b.jobs[job.Name]
		if kept == nil || kept.UID != job.UID {
			s.taken[job.UID] = true
			s.jobLog = append(s.jobLog, change[*batchv1.Job]{s.version, job, true})
		}
	}
	s.jobs = b.jobs
	for _, job := range s.sorted() {
		s.jobLog = append(s.jobLog, change[*batchv1.Job]{s.version, job, false})
	}
	if s.run != nil && (b.run == nil || b.run.UID != s.run.UID) {
		s.runLog = append(s.runLog, change[*run]{s.version, s.run, true})
	}
	was := s.lastCopy(b.run)
	s.run = b.run
	if s.run != nil {
		s.runLog = append(s.runLog, change[*run]{s.version, s.run.clone(), false})
	}
	if was != nil {
		again := s.run.clone()
		again.cancel = was.cancel
		again.suspend = was.suspend
		again.Generation = was.Generation
		s.putRun(again)
	}
	s.executed = b.ran
}

// lastCopy is the last copy of a run that the watch has sent, also if it was
// deleted since; nil without a run.
func (s *apiServer) lastCopy(of *run) *run {
	if of == nil {
		return nil
	}
	last := of
	for _, e := range s.runLog {
		if e.object.UID == of.UID {
			last = e.object
		}
	}
	return last
}
