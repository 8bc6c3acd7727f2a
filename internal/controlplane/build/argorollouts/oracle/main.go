// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command oracle asks the code of Argo Rollouts about Rollouts. It reads JSON
// questions from standard input and writes one JSON answer for each to standard
// output, until the input ends. It is built in the module of the controller, so
// it runs the controller's own code.
//
//	{"rollout": {...}}                  {"refused": "why its validation refuses it, empty if it does not"}
//	{"rollout": {...}, "settle": true}  {"canary": 1, "stable": 4}
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/validation"
	"github.com/argoproj/argo-rollouts/utils/replicaset"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type question struct {
	Rollout json.RawMessage `json:"rollout"`
	Settle  bool            `json:"settle"`
}

type answer struct {
	Refused string `json:"refused,omitempty"`
	Canary  int32  `json:"canary"`
	Stable  int32  `json:"stable"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run() error {
	in := json.NewDecoder(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		var q question
		err := in.Decode(&q)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.Encode(reply(q)); err != nil {
			return err
		}
	}
}

// reply never fails: what the types cannot hold the CRD does not let in, and a
// panic is a refusal too.
func reply(q question) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{Refused: fmt.Sprint("panic: ", p)}
		}
	}()
	var r v1alpha1.Rollout
	if err := json.Unmarshal(q.Rollout, &r); err != nil {
		return answer{Refused: err.Error()}
	}
	if q.Settle {
		return settle(&r)
	}
	if errs := validation.ValidateRollout(&r); len(errs) > 0 {
		return answer{Refused: errs.ToAggregate().Error()}
	}
	return answer{}
}

// settle repeats the controller's arithmetic for the first step, beginning with
// the old version alone, until nothing changes. Pods are ready immediately. The
// result is what a person sees at the pause, not the aim of one reconcile.
func settle(r *v1alpha1.Rollout) answer {
	r.Status.CurrentStepIndex = new(int32(0))
	r.Status.StableRS, r.Status.CurrentPodHash = "old", "new"
	canary, stable := int32(0), *r.Spec.Replicas
	for range 1000 {
		newRS, stableRS := replicaSet("new", canary), replicaSet("old", stable)
		var c, s int32
		if r.Spec.Strategy.Canary.TrafficRouting == nil {
			c, s = replicaset.CalculateReplicaCountsForBasicCanary(r, newRS, stableRS, nil)
		} else {
			c, s = replicaset.CalculateReplicaCountsForTrafficRoutedCanary(r, newRS, stableRS, nil)
		}
		if c == canary && s == stable {
			return answer{Canary: c, Stable: s}
		}
		canary, stable = c, s
	}
	return answer{Refused: "the counts do not settle"}
}

func replicaSet(name string, n int32) *appsv1.ReplicaSet {
	s := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.Replicas, s.Status.Replicas, s.Status.AvailableReplicas = new(n), n, n
	return s
}
