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
		p.warn(field.Required(inCanary("steps"), "without them this is a plain rolling update; the safe canary is setWeight: 20, then pause: {}"))
		return
	}
	weight, known, waits := int32(0), true, c.Analysis != nil
	for i := range c.Steps {
		s := &c.Steps[i]
		if p.lacks(s, i) {
			known, waits = false, true
		} else {
			p.oneAction(s, i)
		}
		if s.SetWeight != nil {
			weight, known = *s.SetWeight, p.weight(c, *s.SetWeight, i)
		}
		if s.Pause != nil {
			p.pause(s.Pause, i)
			if sound && known && c.TrafficRouting == nil && r.Spec.Replicas != nil {
				p.tested(r, weight, i)
			}
		}
		p.carriedStep(c, s, i)
		waits = waits || s.Pause != nil || s.Analysis != nil || s.Experiment != nil || s.Plugin != nil
	}
	if !waits {
		p.warn(field.Required(inCanary("steps"), "one step at least must wait: pause: {} for a person, pause: {duration: 10m} for a time, or an analysis"))
	}
}

// lacks reports whether the step has no action because something in it could
// not be read.
func (p *problems) lacks(s *Step, i int) bool {
	if len(p.unread) == 0 || s.actions() != [8]bool{} {
		return false
	}
	path := step(i).String()
	return slices.ContainsFunc(p.unread, func(u *field.Error) bool { return within(u.Field, path) })
}

// oneAction: the controller refuses two of setWeight, pause, experiment and
// analysis. It does not count the other four, and carries out a pause or a
// header route together with setCanaryScale. Of setWeight and setCanaryScale,
// and of a plugin and another action, it carries out one.
func (p *problems) oneAction(s *Step, i int) {
	count, counted := 0, 0
	for j, set := range s.actions() {
		if set {
			count++
			if j < 4 {
				counted++
			}
		}
	}
	unclear := s.SetWeight != nil && s.SetCanaryScale != nil || s.Plugin != nil && count > 1
	switch {
	case count == 0:
		p.add(field.Required(step(i), "exactly one of "+strings.Join(actionNames(), " | ")))
	case counted > 1:
		p.add(s.tooMany(i))
	case unclear:
		p.warn(s.tooMany(i))
	}
}

func (s *Step) tooMany(i int) *field.Error {
	var names []string
	for j, set := range s.actions() {
		if set {
			names = append(names, actionNames()[j])
		}
	}
	return field.Invalid(step(i), strings.Join(names, " and "), "must be exactly one action; make it a step each")
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
	most := c.maxWeight()
	path := step(i).Child("setWeight")
	switch {
	case w < 0 || w > most:
		p.add(field.Invalid(path, w, fmt.Sprintf("must be from 0 to %d", most)))
		return false
	case c.TrafficRouting == nil && (w == 0 || w == most):
		p.warn(field.Invalid(path, w, "must be from 1 to 99: of 0 nothing would be tested, of 100 everything replaced"))
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
	wrong := func() *field.Error {
		return field.Invalid(step(i).Child("pause", "duration"), pause.Duration.String(),
			"must be whole seconds such as 600, or a Go duration such as 10m or 1h30m, and at least one second; leave it out to wait for a person")
	}
	switch d, ok := seconds(pause.Duration); {
	case !ok || d < 0 || d > math.MaxInt32*time.Second || d%time.Second != 0:
		p.add(wrong())
	case d == 0:
		p.warn(wrong())
	}
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

// tested: at a pause both versions must run, or there is nothing to look at, or
// nothing to go back to.
func (p *problems) tested(r *Rollout, weight int32, i int) {
	canary, stable := r.Counts(weight)
	path, replicas := step(i).Child, r.replicas()
	switch {
	case replicas <= 0:
	case canary == 0 && weight == 0:
		p.warn(field.Invalid(path("pause"), fmt.Sprintf("0 of %d pods", replicas), "no pod of the new version would run; put a setWeight before the pause"))
	case canary == 0:
		p.warn(field.Invalid(path("pause"), fmt.Sprintf("0 of %d pods", replicas),
			fmt.Sprintf("at weight %d no pod of the new version would run; set maxSurge to 1, or raise the weight or the replicas", weight)))
	case stable == 0:
		p.warn(field.Invalid(path("pause"), fmt.Sprintf("%d of %d pods", canary, replicas),
			fmt.Sprintf("at weight %d no pod of the old version would be left; set maxSurge to 1, or lower the weight", weight)))
	}
}
