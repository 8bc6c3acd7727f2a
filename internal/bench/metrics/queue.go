// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/metrics/kube"
)

// held is the number of items that the workers hold. The longest of them is
// looked up for each item.
const held = 1000

// items puts an item through a queue that counts it, and through one of
// client-go's without metrics.
func items() (bench.Measure, error) {
	_, m, err := exported()
	if err != nil {
		return bench.Measure{}, err
	}
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]
	return bench.Measure{
		Name:  "queue item, 1,000 held",
		Ours:  through("", kube.NewQueue(m.Controller("agentrun"), limiter())),
		Peers: []bench.Subject{through(clientGo, workqueue.NewTypedRateLimitingQueue(limiter()))},
		Gates: []bench.Gate{{Unit: bench.Nanos, Peer: clientGo, Limit: usual}},
	}, nil
}

func through(name string, q workqueue.TypedRateLimitingInterface[string]) bench.Subject {
	for i := range held {
		q.Add("ci/held-" + strconv.Itoa(i))
		q.Get()
	}
	return times(name, func() {
		q.Add("ci/run-1")
		item, _ := q.Get()
		q.Done(item)
	})
}
