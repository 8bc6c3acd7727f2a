// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// TestReferences_ArgumentsOfAnalyses: the controller refuses the Rollout with
// InvalidSpec. Of a count it looks at the template's own value alone.
func TestReferences_ArgumentsOfAnalyses(t *testing.T) {
	const (
		needs   = "spec: {args: [{name: service}], metrics: [{name: errors}]}"
		counted = "spec: {args: [{name: times}], metrics: [{name: errors, interval: 5s, count: '{{args.times}}'}]}"
	)
	of := func(args ...any) rollout.Step {
		s := analysis(template("t"))
		if args != nil {
			s.Analysis["args"] = args
		}
		return s
	}
	for name, tc := range map[string]struct {
		r    *rollout.Rollout
		have objects
	}{
		"ArgumentWithoutValue": {steps(of()), objects{"analysistemplates/shop/t": needs}},
		"ArgumentMisspelt":     {steps(of(map[string]any{"name": "servise", "value": "web"})), objects{"analysistemplates/shop/t": needs}},
		"InTheBackground":      {canary(func(c *rollout.Canary) { c.Analysis = map[string]any{"templates": []any{template("t")}} }), objects{"analysistemplates/shop/t": needs}},
		"CountIsAnArgument":    {steps(of(map[string]any{"name": "times", "value": "3"})), objects{"analysistemplates/shop/t": counted}},
	} {
		var asked []string
		errs := live.References(t.Context(), tc.r, tc.have.reader(t, &asked), "")
		assert.Len(t, errs, 1, "%s: %v", name, errs)
	}
	inAnother := steps(rollout.Step{Analysis: map[string]any{"templates": []any{template("t"), template("u")}}})
	var asked []string
	both := objects{"analysistemplates/shop/t": needs, "analysistemplates/shop/u": "spec: {args: [{name: service, value: web}], metrics: [{name: latency}]}"}
	assert.Empty(t, live.References(t.Context(), inAnother, both.reader(t, &asked), ""), "a value in one template serves all")
	background := canary(func(c *rollout.Canary) { c.Analysis = map[string]any{"templates": []any{template("t"), template("u")}} })
	assert.Len(t, live.References(t.Context(), background, both.reader(t, &asked), ""), 1, "each template of a background analysis is checked alone")
	asked = nil
	pieces := objects{"analysistemplates/shop/t": "spec: {args: [{name: times, value: '1'}], metrics: [{name: errors, interval: 5s, count: '{{args.times}}0'}]}"}
	assert.Empty(t, live.References(t.Context(), steps(of()), pieces.reader(t, &asked), ""), "ten")
	for _, e := range live.References(t.Context(), inAnother, objects{"analysistemplates/shop/t": needs}.reader(t, &asked), "") {
		assert.Equal(t, field.ErrorTypeNotFound, e.Type, "the template that is missing may have the value: %v", e)
	}
}
