// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (p *problems) steps(r *Rollout, sound bool) {
	c := r.Spec.Strategy.Canary
	if len(c.Steps) == 0 {
		p.warn(field.Required(inCanary("steps"),
			"without them this is a plain rolling update; the safe canary is setWeight: 20, then pause: {}"))
		return
	}
	// At a pause the pods are counted, unless something is not known.
	counted := sound && c.TrafficRouting == nil && r.Spec.Replicas != nil
	weight := int32(0)
	waits := c.Analysis != nil
	for i := range c.Steps {
		s := &c.Steps[i]
		p.oneAction(s, i)
		if s.SetWeight != nil {
			weight = *s.SetWeight
			counted = p.weight(c, i) && counted
		}
		if s.Pause != nil {
			p.pause(s.Pause, i)
			if counted {
				p.tested(r, weight, i)
			}
		}
		p.analysis(s.Analysis, step(i).Child("analysis"))
		waits = waits || s.waits()
	}
	if !waits {
		p.warn(field.Required(inCanary("steps"),
			"one step at least must wait: pause: {} for a person, pause: {duration: 10m} for a time, "+
				"or an analysis"))
	}
}

// waits reports whether a person, a time or an analysis ends the step.
func (s *Step) waits() bool {
	return s.Pause != nil || s.Analysis != nil || s.Experiment != nil || s.Plugin != nil
}

// oneAction: the controller refuses two of setWeight, pause, experiment and
// analysis. It does not count the other four, and carries out a pause or a
// header route together with setCanaryScale. Of setWeight and setCanaryScale,
// and of a plugin and another action, it carries out one.
func (p *problems) oneAction(s *Step, i int) {
	actions := s.actions()
	counted := 0
	for _, name := range actions {
		if slices.Contains(actionNames()[:4], name) {
			counted++
		}
	}
	together := strings.Join(actions, " and ")
	tooMany := field.Invalid(step(i), together, "must be exactly one action; make it a step each")
	switch {
	case len(actions) == 0:
		p.add(field.Required(step(i), "exactly one of "+strings.Join(actionNames(), " | ")))
	case counted > 1:
		p.add(tooMany)
	case len(actions) == 1:
	case s.Plugin != nil, s.SetWeight != nil && s.SetCanaryScale != nil:
		p.warn(tooMany)
	}
}

// actions are the names of those that are set.
func (s *Step) actions() []string {
	set := [...]bool{
		s.SetWeight != nil, s.Pause != nil, s.Experiment != nil, s.Analysis != nil,
		s.SetCanaryScale != nil, s.SetHeaderRoute != nil, s.SetMirrorRoute != nil, s.Plugin != nil,
	}
	var names []string
	for i, name := range actionNames() {
		if set[i] {
			names = append(names, name)
		}
	}
	return names
}

func actionNames() []string {
	return []string{
		"setWeight", "pause", "experiment", "analysis",
		"setCanaryScale", "setHeaderRoute", "setMirrorRoute", "plugin",
	}
}

// weight reports whether the weight of a step can be counted with.
func (p *problems) weight(c *Canary, i int) bool {
	most := c.maxWeight()
	weight := *c.Steps[i].SetWeight
	path := step(i).Child("setWeight")
	if weight < 0 || weight > most {
		p.add(field.Invalid(path, weight, fmt.Sprintf("must be from 0 to %d", most)))
		return false
	}
	if c.TrafficRouting != nil {
		return true
	}
	last := i == len(c.Steps)-1
	if weight == 0 || weight == most && !last {
		p.warn(field.Invalid(path, weight,
			"must be from 1 to 99, or 100 as the last step: of 0 nothing is tested, "+
				"of 100 everything is replaced"))
		return false
	}
	return true
}

// pause refuses a length that the controller would cut: it takes whole seconds,
// and 500ms is 0.
func (p *problems) pause(pause *Pause, i int) {
	if pause.Duration == nil {
		return
	}
	wrong := field.Invalid(step(i).Child("pause", "duration"), pause.Duration.String(),
		"must be whole seconds such as 600, or a Go duration such as 10m or 1h30m, "+
			"and at least one second; leave it out to wait for a person")
	d, ok := seconds(pause.Duration)
	switch {
	case !ok, d < 0, d > math.MaxInt32*time.Second, d%time.Second != 0:
		p.add(wrong)
	case d == 0:
		p.warn(wrong)
	}
}

func seconds(v *intstr.IntOrString) (time.Duration, bool) {
	text := v.String()
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(n) * time.Second, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// tested: at a pause both versions must run, or there is nothing to look at, or
// nothing to go back to.
func (p *problems) tested(r *Rollout, weight int32, i int) {
	replicas := r.replicas()
	if replicas <= 0 {
		return
	}
	canary, stable := r.Counts(weight)
	warn := func(format string, args ...any) {
		pods := fmt.Sprintf("%d of %d pods", canary, replicas)
		p.warn(field.Invalid(step(i).Child("pause"), pods, fmt.Sprintf(format, args...)))
	}
	switch {
	case weight == 0:
		warn("no pod of the new version would run; put a setWeight before the pause")
	case canary == 0:
		warn("at weight %d no pod of the new version would run; "+
			"set maxSurge to 1, or raise the weight or the replicas", weight)
	case stable == 0:
		warn("at weight %d no pod of the old version would be left; "+
			"set maxSurge to 1, or lower the weight", weight)
	}
}
