// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
)

// What the package does not make itself it carries, and checks by upstream's rules.
func TestTrafficRouting(t *testing.T) {
	const services = `"canaryService":"c","stableService":"s"`
	cases := map[string]bad{
		"NginxIsRight":             {"Both services.", with(`"nginx":{}`, services), ""},
		"NginxWithoutServices":     {"The router sends traffic by them.", with(`"nginx":{}`), "canaryService stableService"},
		"IstioByDestinationRule":   {"It needs no services.", with(`"istio":{"destinationRule":{"name":"x"}}`), ""},
		"IstioWithoutServices":     {"Else it does.", with(`"istio":{}`), "canaryService stableService"},
		"AlbWithoutServices":       {"It does.", with(`"alb":{}`), "canaryService stableService"},
		"PluginWithoutServices":    {"Who knows.", with(`"plugins":{"x":{}}`), ""},
		"NoRouter":                 {"None to ask.", with(``, services), "trafficRouting"},
		"RouterIsAString":          {"An object.", with(`"nginx":"yes"`, services), "trafficRouting"},
		"DelayIsRight":             {"Here it has an effect.", with(`"nginx":{}`, services, `"scaleDownDelaySeconds":5`), ""},
		"DelayAndDynamicScale":     {"One of both.", with(`"nginx":{}`, services, `"scaleDownDelaySeconds":5,"dynamicStableScale":true`), "dynamicStableScale"},
		"MaxWeightOfNginx":         {"Weights up to it.", with(`"nginx":{},"maxTrafficWeight":1000`, services, `"steps":[{"setWeight":900},{"pause":{}}]`), ""},
		"WeightOverMaxWeight":      {"No more.", with(`"nginx":{},"maxTrafficWeight":1000`, services, `"steps":[{"setWeight":1001},{"pause":{}}]`), "steps[0].setWeight"},
		"MaxWeightOfIstio":         {"It has none.", with(`"istio":{},"maxTrafficWeight":1000`, services), "trafficRouting.maxTrafficWeight"},
		"MaxWeightZero":            {"Of what?", with(`"nginx":{},"maxTrafficWeight":0`, services, `"steps":[{"pause":{}}]`), "trafficRouting.maxTrafficWeight"},
		"MaxWeightOfOne":           {"All or nothing.", with(`"plugins":{"x":{}},"maxTrafficWeight":1`, `"steps":[{"setWeight":1},{"pause":{}}]`), ""},
		"PingPongIsRight":          {"With alb.", with(`"alb":{"rootService":"r"}`, `"pingPong":{"pingService":"a","pongService":"b"}`), ""},
		"PingPongWithoutRoot":      {"Alb needs it.", with(`"alb":{}`, `"pingPong":{"pingService":"a","pongService":"b"}`), "trafficRouting.alb.rootService"},
		"PingPongWithNginx":        {"Three routers know it.", with(`"nginx":{}`, services, `"pingPong":{"pingService":"a","pongService":"b"}`), "pingPong"},
		"PingIsPong":               {"Two services.", with(`"alb":{"rootService":"r"}`, `"pingPong":{"pingService":"a","pongService":"a"}`), "pingPong.pongService"},
		"NoPing":                   {"Two services.", with(`"alb":{"rootService":"r"}`, `"pingPong":{"pongService":"a"}`), "pingPong.pingService"},
		"WeightZeroIsATraffic":     {"No traffic, but a canary behind a header.", with(`"istio":{},"managedRoutes":[{"name":"r"}]`, services, header(`{"exact":"a"}`)), ""},
		"HeaderOfAnUnknownRoute":   {"It must be managed.", with(`"istio":{},"managedRoutes":[{"name":"q"}]`, services, header(`{"exact":"a"}`)), "steps[0].setHeaderRoute.name"},
		"HeaderWithoutRoutes":      {"It must be managed.", with(`"istio":{}`, services, header(`{"exact":"a"}`)), "steps[0].setHeaderRoute.name"},
		"HeaderOfNginx":            {"It has none.", with(`"nginx":{},"managedRoutes":[{"name":"r"}]`, services, header(`{"exact":"a"}`)), "steps[0].setHeaderRoute"},
		"HeaderOfTwoKinds":         {"Exactly one.", with(`"istio":{},"managedRoutes":[{"name":"r"}]`, services, header(`{"exact":"a","regex":"b"}`)), "steps[0].setHeaderRoute.match[0].headerValue"},
		"HeaderOfNoKind":           {"Exactly one.", with(`"istio":{},"managedRoutes":[{"name":"r"}]`, services, header(`null`)), "steps[0].setHeaderRoute.match[0].headerValue"},
		"HeaderPrefixOfAlb":        {"It takes exact alone.", with(`"alb":{},"managedRoutes":[{"name":"r"}]`, services, header(`{"prefix":"a"}`)), "steps[0].setHeaderRoute.match[0].headerValue"},
		"HeaderPrefixOfIstio":      {"Any kind.", with(`"istio":{},"managedRoutes":[{"name":"r"}]`, services, header(`{"prefix":"a"}`)), ""},
		"MirrorIsRight":            {"With istio.", with(`"istio":{},"managedRoutes":[{"name":"r"}]`, services, mirror(`{"exact":"GET"}`, `null`)), ""},
		"MirrorOfAlb":              {"It has none.", with(`"alb":{},"managedRoutes":[{"name":"r"}]`, services, mirror(`{"exact":"GET"}`, `null`)), "steps[0].setMirrorRoute"},
		"MirrorOfNoKind":           {"Exactly one, of each.", with(`"istio":{},"managedRoutes":[{"name":"r"}]`, services, mirror(`{}`, `{"exact":"/","prefix":"/"}`)), "steps[0].setMirrorRoute.match[0].method steps[0].setMirrorRoute.match[0].path"},
		"ScaleIsRight":             {"With a router.", with(`"nginx":{}`, services, `"steps":[{"setCanaryScale":{"replicas":1}},{"pause":{}}]`), ""},
		"ScaleOfNothing":           {"To what?", with(`"nginx":{}`, services, `"steps":[{"setCanaryScale":{}},{"pause":{}}]`), "steps[0].setCanaryScale"},
		"ExperimentWeightOfNginx":  {"Four routers know it.", with(`"nginx":{}`, services, `"steps":[{"experiment":{"templates":[{"name":"x","weight":5}]}}]`), "steps[0].experiment.templates[0].weight"},
		"ExperimentWeightOfIstio":  {"One of them.", with(`"istio":{}`, services, `"steps":[{"experiment":{"templates":[{"name":"x","weight":5}]}}]`), ""},
		"ExperimentWeightOfPlugin": {"One of them.", with(`"plugins":{"x":{}}`, `"steps":[{"experiment":{"templates":[{"name":"x","weight":5}]}}]`), ""},
		"ExperimentWithoutRouting": {"None at all.", stepsOf(twenty, `{"experiment":{"templates":[{"name":"x","weight":5}]}}`), "steps[1].experiment.templates[0].weight"},
		"RouterToldOnceOfMany":     {"Not for every step.", with(`"nginx":"yes"`, services, `"steps":[{"setCanaryScale":{"replicas":1}},{"setCanaryScale":{"replicas":2}},{"pause":{}}]`), "trafficRouting"},
		"NoRoutingAtAllStaysQuiet": {"The steps say it.", canaryOf(`{"steps":[{"setCanaryScale":{"replicas":1}},{"setWeight":20},{"pause":{}}]}`), "steps[0].setCanaryScale"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := rollout.Validate(patched(t, manifest(t, canary(t)), tc.patch))
			var got []string
			for _, path := range paths(errs) {
				got = append(got, strings.TrimPrefix(path, "spec.strategy.canary."))
			}
			assert.Equal(t, strings.Fields(tc.want), append([]string{}, got...), "%s\n%v", tc.reason, errs)
			seen := map[string]bool{}
			for _, e := range errs {
				assert.False(t, seen[e.Error()], "said twice: %v", e)
				seen[e.Error()] = true
			}
		})
	}
}

func TestArgumentsOfAnalyses(t *testing.T) {
	cases := map[string]bool{
		"metadata.name": true, "metadata.namespace": true, "metadata.uid": true, "metadata.labels": true, "metadata.annotations": true,
		"metadata.labels['app']": true, "metadata.annotations['example.com/Team']": true, "status.x": true, "spec.replicas": true,
		"metadata": false, "metadata.generation": false, "metadata.labels['a b']": false, "metadata.labels['']": false,
		"metadata.uid['x']": false, "metadata.labels['x": false,
	}
	for path, right := range cases {
		arg := `{"name":"x","valueFrom":{"fieldRef":{"fieldPath":"` + path + `"}}}`
		analysis := `{"templates":[{"templateName":"t"}],"args":[{"name":"y"},` + arg + `]}`
		for step, at := range map[string]string{
			`{"analysis":` + analysis + `}`:                                             "analysis.args[1]",
			`{"experiment":{"templates":[{"name":"x"}],"analyses":[` + analysis + `]}}`: "experiment.analyses[0].args[1]",
		} {
			got := paths(rollout.Validate(patched(t, manifest(t, canary(t)), stepsOf(twenty, step))))
			if right {
				assert.Empty(t, got, path)
			} else {
				assert.Equal(t, []string{"spec.strategy.canary.steps[1]." + at + ".valueFrom.fieldRef.fieldPath"}, got, path)
			}
		}
	}
}

func TestCarriedObjectsOfWrongTypes(t *testing.T) {
	for name, patch := range map[string]string{
		"spec.strategy.canary.antiAffinity":             canaryOf(`{"antiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":1}}`),
		"spec.strategy.canary.pingPong":                 canaryOf(`{"trafficRouting":{"plugins":{"x":{}}},"pingPong":{"pingService":1}}`),
		"spec.strategy.canary.replicaProgressThreshold": canaryOf(`{"replicaProgressThreshold":{"type":1}}`),
		"spec.strategy.canary.steps[1].analysis":        stepsOf(twenty, `{"analysis":{"templates":"x"}}`),
		"spec.strategy.canary.steps[1].experiment":      stepsOf(twenty, `{"experiment":{"templates":"x"}}`),
		"spec.strategy.canary.trafficRouting":           canaryOf(`{"trafficRouting":[]}`),
		"spec.strategy.blueGreen":                       blueGreenOf(`{"activeService":1}`),
	} {
		assert.Contains(t, paths(rollout.Validate(patched(t, manifest(t, canary(t)), patch))), name)
	}
}

func TestValidateOfWhatIsNoRollout(t *testing.T) {
	assert.Equal(t, []string{"rollout"}, paths(rollout.Validate(nil)))
	assert.Equal(t, []string{"rollout"}, paths(rollout.Validate((*rollout.Rollout)(nil))))
	assert.Equal(t, []string{"rollout"}, paths(rollout.Validate((*unstructured.Unstructured)(nil))))
	assert.Equal(t, []string{"kind"}, paths(rollout.Validate(web())))
	assert.NotEmpty(t, rollout.Validate(new(unstructured.Unstructured)))
	assert.NotEmpty(t, rollout.Validate(new(rollout.Rollout)))
}

// A live Rollout is checked as it is, its status left alone.
func TestValidateOfALiveRollout(t *testing.T) {
	u := patched(t, manifest(t, canary(t)), `{"metadata":{"uid":"u","resourceVersion":"7","generation":3,"creationTimestamp":"2026-01-02T03:04:05Z"},"status":{"phase":"Healthy"}}`)
	before := u.DeepCopy()
	assert.Empty(t, rollout.Validate(u))
	assert.Equal(t, before, u)
}

// What Go types before k8s.io/api v0.34 write is refused by server-side apply, which declares no such field.
func TestACreationTimestampOfNullInTheTemplate(t *testing.T) {
	u := manifest(t, canary(t))
	template := at(u.Object, "spec", "template", "metadata").(map[string]any)
	template["creationTimestamp"] = nil
	assert.Equal(t, []string{"spec.template.metadata.creationTimestamp"}, paths(rollout.Validate(u)))
}

func with(router string, more ...string) string {
	return canaryOf(`{` + strings.Join(append([]string{`"trafficRouting":{` + router + `}`}, more...), ",") + `}`)
}

func header(value string) string {
	return `"steps":[{"setHeaderRoute":{"name":"r","match":[{"headerName":"h","headerValue":` + value + `}]}},{"setWeight":0},{"pause":{}}]`
}

func mirror(method, path string) string {
	return `"steps":[{"setMirrorRoute":{"name":"r","match":[{"method":` + method + `,"path":` + path + `}]}},{"pause":{}}]`
}
