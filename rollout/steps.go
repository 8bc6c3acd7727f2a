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
		p.add(field.Required(inCanary("steps"), "without them this is a plain rolling update; the safe canary is setWeight: 20, then pause: {}"))
		return
	}
	weight, known, waits := int32(0), true, false
	for i := range c.Steps {
		s := &c.Steps[i]
		if p.lacks(s, i) {
			known, waits = false, true // what it was meant to be nobody knows
		} else {
			p.oneAction(s, i)
		}
		if s.SetWeight != nil {
			weight, known = *s.SetWeight, p.weight(c, *s.SetWeight, i)
		}
		if s.Pause != nil {
			p.pause(s.Pause, i)
			if sound && known && c.TrafficRouting == nil {
				p.tested(r, weight, i)
			}
		}
		p.carriedStep(r, s, i)
		waits = waits || s.Pause != nil || s.Analysis != nil || s.Experiment != nil || s.Plugin != nil
	}
	if !waits {
		p.add(field.Required(inCanary("steps"), "one step at least must wait: pause: {} for a person, pause: {duration: 10m} for a time, or an analysis"))
	}
}

// lacks reports whether the step has no action because something in it could not be read.
func (p *problems) lacks(s *Step, i int) bool {
	if len(p.unread) == 0 || s.actions() != [8]bool{} {
		return false
	}
	path := step(i).String()
	return slices.ContainsFunc(p.unread, func(u *field.Error) bool { return within(u.Field, path) })
}

// oneAction: upstream counts only four of the eight, and of two actions carries out one.
func (p *problems) oneAction(s *Step, i int) {
	count := 0
	for _, set := range s.actions() {
		if set {
			count++
		}
	}
	if count == 1 {
		return
	}
	var names []string
	for j, set := range s.actions() {
		if set {
			names = append(names, actionNames()[j])
		}
	}
	if count == 0 {
		p.add(field.Required(step(i), "exactly one of "+strings.Join(actionNames(), " | ")))
		return
	}
	p.add(field.Invalid(step(i), strings.Join(names, " and "), "must be exactly one action; make it a step each"))
}

func (s *Step) actions() [8]bool {
	return [8]bool{
		s.SetWeight != nil, s.Pause != nil, s.Experiment != nil, s.Analysis != nil,
		s.SetCanaryScale != nil, s.SetHeaderRoute != nil, s.SetMirrorRoute != nil, s.Plugin != nil,
	}
}

func actionNames() []string {
	return []string{"setWeight", "pause", "experiment", "analysis", "setCanaryScale", "setHeaderRoute", "setMirrorRoute", "plugin"}
}

func (p *problems) weight(c *Canary, w int32, i int) bool {
	least, most := int32(1), int32(99)
	why := "of 0 nothing would be tested, of 100 everything replaced"
	if c.TrafficRouting != nil {
		least, most, why = 0, c.maxWeight(), "the share of the traffic"
	}
	if w < least || w > most {
		p.add(field.Invalid(step(i).Child("setWeight"), w, fmt.Sprintf("must be from %d to %d: %s", least, most, why)))
		return false
	}
	return true
}

// pause refuses a pause that is none. The controller takes whole seconds, the rest is cut off: 500ms is 0.
func (p *problems) pause(pause *Pause, i int) {
	if pause.Duration == nil {
		return
	}
	d, ok := seconds(pause.Duration)
	if ok && d >= time.Second && d <= math.MaxInt32*time.Second && d%time.Second == 0 {
		return
	}
	p.add(field.Invalid(step(i).Child("pause", "duration"), pause.Duration.String(),
		"must be whole seconds such as 600, or a Go duration such as 10m or 1h30m, and at least one second; leave it out to wait for a person"))
}

func seconds(v *intstr.IntOrString) (time.Duration, bool) {
	if v.Type == intstr.Int {
		return time.Duration(v.IntVal) * time.Second, true
	}
	if n, err := strconv.ParseInt(v.StrVal, 10, 32); err == nil {
		return time.Duration(n) * time.Second, true
	}
	d, err := time.ParseDuration(v.StrVal)
	return d, err == nil
}

// tested: at a pause both versions must run, or there is nothing to look at, or nothing to go back to.
func (p *problems) tested(r *Rollout, weight int32, i int) {
	canary, stable := r.Counts(weight)
	path, replicas := step(i).Child, r.replicas()
	switch {
	case replicas <= 0:
	case canary == 0 && weight == 0:
		p.add(field.Invalid(path("pause"), fmt.Sprintf("0 of %d pods", replicas), "no pod of the new version would run; put a setWeight before the pause"))
	case canary == 0:
		p.add(field.Invalid(path("pause"), fmt.Sprintf("0 of %d pods", replicas),
			fmt.Sprintf("at weight %d no pod of the new version would run; set maxSurge to 1, or raise the weight or the replicas", weight)))
	case stable == 0:
		p.add(field.Invalid(path("pause"), fmt.Sprintf("%d of %d pods", canary, replicas),
			fmt.Sprintf("at weight %d no pod of the old version would be left; set maxSurge to 1, or lower the weight", weight)))
	}
}
