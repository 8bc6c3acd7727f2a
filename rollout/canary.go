// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func inCanary(names ...string) *field.Path {
	return field.NewPath("spec", "strategy", "canary").Child(names[0], names[1:]...)
}

func step(i int) *field.Path { return inCanary("steps").Index(i) }

func (p *problems) canary(r *Rollout) {
	c := r.Spec.Strategy.Canary
	sound := p.surgeBounds(c)
	p.onlyRouted(c)
	p.steps(r, sound)
	if c.CanaryService != "" && c.CanaryService == c.StableService {
		p.add(field.Invalid(inCanary("stableService"), c.StableService, "must be another Service than canaryService"))
	}
	p.antiAffinity(c.AntiAffinity, inCanary("antiAffinity"))
	p.threshold(r)
	if c.Analysis != nil {
		p.analysis(c.Analysis, inCanary("analysis"))
	}
}

// surgeBounds reports whether maxSurge and maxUnavailable are numbers that can
// be used. Upstream takes "1" for 1%, "abc" for 0 and negative numbers as they
// come.
func (p *problems) surgeBounds(c *Canary) bool {
	surge, ok := p.surgeBound(c.MaxSurge, "maxSurge")
	unavailable, also := p.surgeBound(c.MaxUnavailable, "maxUnavailable")
	if ok && also && surge == 0 && unavailable == 0 {
		p.add(field.Invalid(inCanary("maxSurge"), c.MaxSurge.String(),
			"must not be 0 while maxUnavailable is, or no pod could be replaced; 1 costs one pod more for a while"))
	}
	return ok && also
}

func (p *problems) surgeBound(v *intstr.IntOrString, name string) (int, bool) {
	switch {
	case v == nil:
		return 25, true
	case v.Type == intstr.Int && v.IntVal >= 0:
		return int(v.IntVal), true
	case v.Type == intstr.String:
		digits, percent := strings.CutSuffix(v.StrVal, "%")
		n, err := strconv.ParseUint(digits, 10, 31)
		if percent && err == nil && (n <= 100 || name == "maxSurge") {
			return int(n), true
		}
	}
	detail := "must be a whole number such as 1, or a percentage such as 25%; of maxUnavailable at most 100%"
	if n, err := strconv.ParseUint(v.StrVal, 10, 31); v.Type == intstr.String && err == nil {
		detail = fmt.Sprintf(`is the string %q; use intstr.FromInt32(%d), which is %d without quotes, or a percentage such as "25%%"`, v.StrVal, n, n)
	}
	p.add(field.Invalid(inCanary(name), v.String(), detail))
	return 0, false
}
