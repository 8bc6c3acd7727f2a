// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	kjson "sigs.k8s.io/json"
)

// DeepCopyObject shares no memory with r, and is nil for nil.
func (r *Rollout) DeepCopyObject() runtime.Object {
	if r == nil {
		return nil
	}
	return r.DeepCopy()
}

// DeepCopy shares no memory with r, and is nil for nil.
func (r *Rollout) DeepCopy() *Rollout {
	if r == nil {
		return nil
	}
	out := new(Rollout)
	r.DeepCopyInto(out)
	return out
}

// DeepCopyInto makes out a copy of r that shares no memory with it. It hides
// the method of the embedded metadata.
func (r *Rollout) DeepCopyInto(out *Rollout) {
	*out = *r
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	s := &out.Spec
	s.Replicas = copied(r.Spec.Replicas)
	s.Selector = r.Spec.Selector.DeepCopy()
	s.Template = r.Spec.Template.DeepCopy()
	s.WorkloadRef = copyMap(r.Spec.WorkloadRef)
	s.RollbackWindow = copyMap(r.Spec.RollbackWindow)
	s.Strategy.Canary = r.Spec.Strategy.Canary.deepCopy()
	s.Strategy.BlueGreen = copyMap(r.Spec.Strategy.BlueGreen)
	s.RevisionHistoryLimit = copied(r.Spec.RevisionHistoryLimit)
	s.ProgressDeadlineSeconds = copied(r.Spec.ProgressDeadlineSeconds)
	s.RestartAt = r.Spec.RestartAt.DeepCopy()
	s.Analysis = copyMap(r.Spec.Analysis)
	out.Status.Conditions = slices.Clone(r.Status.Conditions)
	out.Status.CurrentStepIndex = copied(r.Status.CurrentStepIndex)
	out.Status.PauseConditions = slices.Clone(r.Status.PauseConditions)
	out.Status.Canary = copyMap(r.Status.Canary)
}

// DeepCopyObject shares no memory with l, and is nil for nil.
func (l *RolloutList) DeepCopyObject() runtime.Object {
	if l == nil {
		return nil
	}
	return l.DeepCopy()
}

// DeepCopy shares no memory with l, and is nil for nil.
func (l *RolloutList) DeepCopy() *RolloutList {
	if l == nil {
		return nil
	}
	out := new(RolloutList)
	l.DeepCopyInto(out)
	return out
}

// DeepCopyInto makes out a copy of l that shares no memory with it. It hides
// the method of the embedded metadata.
func (l *RolloutList) DeepCopyInto(out *RolloutList) {
	*out = *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = slices.Clone(l.Items)
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
}

func (c *Canary) deepCopy() *Canary {
	if c == nil {
		return nil
	}
	out := *c
	out.MaxSurge = copied(c.MaxSurge)
	out.MaxUnavailable = copied(c.MaxUnavailable)
	out.Steps = copySteps(c.Steps)
	out.TrafficRouting = copyMap(c.TrafficRouting)
	out.Analysis = copyMap(c.Analysis)
	out.AntiAffinity = copyMap(c.AntiAffinity)
	out.CanaryMetadata = copyMap(c.CanaryMetadata)
	out.StableMetadata = copyMap(c.StableMetadata)
	out.ScaleDownDelaySeconds = copied(c.ScaleDownDelaySeconds)
	out.ScaleDownDelayRevisionLimit = copied(c.ScaleDownDelayRevisionLimit)
	out.AbortScaleDownDelaySeconds = copied(c.AbortScaleDownDelaySeconds)
	out.PingPong = copyMap(c.PingPong)
	out.MinPodsPerReplicaSet = copied(c.MinPodsPerReplicaSet)
	out.ReplicaProgressThreshold = copyMap(c.ReplicaProgressThreshold)
	return &out
}

func copySteps(steps []Step) []Step {
	out := slices.Clone(steps)
	for i, s := range steps {
		out[i] = Step{
			SetWeight:      copied(s.SetWeight),
			Experiment:     copyMap(s.Experiment),
			Analysis:       copyMap(s.Analysis),
			SetCanaryScale: copyMap(s.SetCanaryScale),
			SetHeaderRoute: copyMap(s.SetHeaderRoute),
			SetMirrorRoute: copyMap(s.SetMirrorRoute),
			Plugin:         copyMap(s.Plugin),
		}
		if s.Pause != nil {
			out[i].Pause = &Pause{Duration: copied(s.Pause.Duration)}
		}
	}
	return out
}

// copied is a copy of what holds no pointers itself.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	out := *p
	return &out
}

func copyMap(m map[string]any) map[string]any {
	out := maps.Clone(m)
	for k, v := range out {
		out[k] = copyValue(v)
	}
	return out
}

// copyValue copies what JSON decodes to. Other types, which only Go code can
// put here, go through JSON. A value that JSON cannot hold is kept, and refused
// where it is marshalled.
func copyValue(v any) any {
	switch v := v.(type) {
	case nil, string, bool, int, int32, int64, float64:
		return v
	case map[string]any:
		return copyMap(v)
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = copyValue(out[i])
		}
		return out
	}
	var out any
	err := remarshal(v, &out)
	if err != nil {
		return v
	}
	return out
}

// remarshal fills a value from the JSON of another.
func remarshal(from, into any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
}
