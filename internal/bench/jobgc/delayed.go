// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// delayed is a watch whose events arrive in order and a while after they
// happened.
type delayed struct {
	lag  time.Duration
	due  chan timed
	out  chan watch.Event
	stop chan struct{}
	once sync.Once
}

type timed struct {
	at    time.Time
	event watch.Event
}

func newDelayed(lag time.Duration) *delayed {
	d := &delayed{
		lag: lag, due: make(chan timed, 10_000), out: make(chan watch.Event), stop: make(chan struct{}),
	}
	go d.deliver()
	return d
}

// send passes an event on; the buffer holds all events of a measure.
func (d *delayed) send(e watch.Event) {
	select {
	case d.due <- timed{time.Now().Add(d.lag), e}:
	case <-d.stop:
	}
}

func (d *delayed) deliver() {
	defer close(d.out)
	for {
		select {
		case e := <-d.due:
			select {
			case <-time.After(time.Until(e.at)):
			case <-d.stop:
				return
			}
			select {
			case d.out <- e.event:
			case <-d.stop:
				return
			}
		case <-d.stop:
			return
		}
	}
}

// Stop ends the watch.
func (d *delayed) Stop() { d.once.Do(func() { close(d.stop) }) }

// ResultChan is where the events arrive.
func (d *delayed) ResultChan() <-chan watch.Event { return d.out }
