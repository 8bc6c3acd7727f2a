// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/rollout"
)

type bad struct {
	reason string
	patch  string // of the safe canary of five pods
	want   string // the paths of the problems, separated by spaces; none if it is accepted
}

// legal reports whether a row of badRollouts is what upstream carries out, so
// that only Rollout.Warnings and Convert speak of it.
func legal(name string) bool {
	return slices.Contains([]string{
		"HashInAffinity", "HashInMatchLabelKeys",
		"WeightIsZero", "WeightIs100", "WeightAndScaleInOneStep", "PauseAndPluginInOneStep", "PauseIsZero", "OnlyAPause", "NoSteps", "NoPause",
	}, name)
}

// badRollouts are bad and odd Rollouts: some are refused by a create or by a
// strict apply, the rest by upstream's controller after the fact, or never.
// What only a cluster can know is not here. The end-to-end tests have them from
// a golden file.
func badRollouts() map[string]bad {
	return map[string]bad{
		"BaselineIsValid": {"The safe canary, which the other rows change.", `{}`, ""},

		"BothFencesZero":            {"No pod could ever be replaced.", canaryOf(`{"maxSurge":0,"maxUnavailable":0}`), "spec.strategy.canary.maxSurge"},
		"BothFencesZeroPercent":     {"As percentages no less.", canaryOf(`{"maxSurge":"0%","maxUnavailable":"0%"}`), "spec.strategy.canary.maxSurge"},
		"SurgeIsAWord":              {"It counts as 0.", canaryOf(`{"maxSurge":"abc"}`), "spec.strategy.canary.maxSurge"},
		"SurgeIsNegative":           {"Runs, paused with four of five old pods and no new one.", canaryOf(`{"maxSurge":-1}`), "spec.strategy.canary.maxSurge"},
		"UnavailableIsNegative":     {"Neither the CRD nor the controller refuses it.", canaryOf(`{"maxUnavailable":-5}`), "spec.strategy.canary.maxUnavailable"},
		"UnavailableIsOverHundred":  {"Neither the CRD nor the controller refuses it.", canaryOf(`{"maxUnavailable":"200%"}`), "spec.strategy.canary.maxUnavailable"},
		"SurgeIsAStringOfOne":       {"It is 1%, not 1.", canaryOf(`{"maxSurge":"1"}`), "spec.strategy.canary.maxSurge"},
		"WeightIsNegative":          {"1 to 99.", stepsOf(`{"setWeight":-1}`, manual), "spec.strategy.canary.steps[0].setWeight"},
		"WeightIs101":               {"1 to 99.", stepsOf(`{"setWeight":101}`, manual), "spec.strategy.canary.steps[0].setWeight"},
		"WeightDecreases":           {"Odd, and carried out.", stepsOf(`{"setWeight":60}`, manual, `{"setWeight":20}`, manual), ""},
		"WeightIsZero":              {"Paused with no new pod: nothing is tested.", stepsOf(`{"setWeight":0}`, manual), "spec.strategy.canary.steps[0].setWeight"},
		"WeightIs100":               {"Everything is replaced before the pause.", stepsOf(`{"setWeight":100}`, manual), "spec.strategy.canary.steps[0].setWeight"},
		"LastWeightIs100":           {"Most published examples have it.", stepsOf(twenty, manual, `{"setWeight":100}`), ""},
		"StepIsEmpty":               {"A step has one action.", stepsOf(twenty, `{}`, manual), "spec.strategy.canary.steps[1]"},
		"StepIsNull":                {"A step has one action.", stepsOf(twenty, `null`, manual), "spec.strategy.canary.steps[1]"},
		"WeightAndPauseInOneStep":   {"A step has one action, not two.", stepsOf(`{"setWeight":20,"pause":{}}`), "spec.strategy.canary.steps[0]"},
		"WeightAndScaleInOneStep":   {"Upstream does not count setCanaryScale.", routed(stepsOf(`{"setWeight":20,"setCanaryScale":{"weight":20}}`, manual)), "spec.strategy.canary.steps[0]"},
		"PauseAndScaleInOneStep":    {"The controller does both.", routed(stepsOf(twenty, `{"pause":{},"setCanaryScale":{"weight":50}}`)), ""},
		"BackgroundAnalysisWaits":   {"It aborts a bad version, without a pause.", canaryOf(`{"analysis":{"templates":[{"templateName":"errors"}]},"steps":[{"setWeight":20},{"setWeight":60}]}`), ""},
		"NoReplicasAndNoSurge":      {"An autoscaler says how many.", `{"spec":{"replicas":null,"strategy":{"canary":{"maxSurge":0,"maxUnavailable":1}}}}`, ""},
		"PauseAndPluginInOneStep":   {"A step has one action, also with a plugin.", stepsOf(twenty, `{"pause":{},"plugin":{"name":"x"}}`), "spec.strategy.canary.steps[1]"},
		"PauseIsAWord":              {"A word is not a duration.", pauseOf(`"abc"`), pausePath},
		"PauseIsNegative":           {"A negative number is not a duration.", pauseOf(`-5`), pausePath},
		"PauseIsADay":               {"Go has no days.", pauseOf(`"1d"`), pausePath},
		"PauseIsZero":               {"No pause at all: straight on.", pauseOf(`0`), pausePath},
		"PauseIsHalfASecond":        {"Cut off to none at all.", pauseOf(`"500ms"`), pausePath},
		"PauseIsOneAndAHalfSeconds": {"Cut off to one.", pauseOf(`"1500ms"`), pausePath},
		"PauseIsMinusAnHour":        {"A negative duration is refused.", pauseOf(`"-1h"`), pausePath},
		"PauseOverflows":            {"More seconds than 32 bits hold.", pauseOf(`"1000000h"`), pausePath},
		"PauseIsEmptyText":          {"An empty text is not a duration.", pauseOf(`""`), pausePath},
		"PauseIsTenMinutes":         {"A Go duration is accepted.", pauseOf(`"10m"`), ""},
		"PauseIs600Seconds":         {"A number of seconds.", pauseOf(`600`), ""},
		"PauseIs600SecondsAsText":   {"Upstream takes them too.", pauseOf(`"600"`), ""},
		"OnlyAPause":                {"Paused with no new pod.", stepsOf(manual), "spec.strategy.canary.steps[0].pause"},
		"NoSteps":                   {"A plain rolling update.", canaryOf(`{"steps":null}`), "spec.strategy.canary.steps"},
		"NoPause":                   {"Nothing waits for a person or an analysis.", stepsOf(twenty, `{"setWeight":50}`), "spec.strategy.canary.steps"},

		"ScaleWithoutRouting":  {"setCanaryScale needs trafficRouting.", stepsOf(twenty, `{"setCanaryScale":{"weight":20}}`, manual), "spec.strategy.canary.steps[1].setCanaryScale"},
		"HeaderWithoutRouting": {"setHeaderRoute needs trafficRouting.", stepsOf(twenty, `{"setHeaderRoute":{"name":"x"}}`, manual), "spec.strategy.canary.steps[1].setHeaderRoute"},
		"MirrorWithoutRouting": {"setMirrorRoute needs trafficRouting.", stepsOf(twenty, `{"setMirrorRoute":{"name":"x"}}`, manual), "spec.strategy.canary.steps[1].setMirrorRoute"},

		"NoStrategy":         {"A Rollout has one of the two strategies.", `{"spec":{"strategy":null}}`, "spec.strategy.canary"},
		"StrategyIsEmpty":    {"A Rollout has one of the two strategies.", `{"spec":{"strategy":{"canary":null}}}`, "spec.strategy.canary"},
		"CanaryAndBlueGreen": {"A Rollout has one strategy.", `{"spec":{"strategy":{"blueGreen":{"activeService":"a"}}}}`, "spec.strategy.blueGreen"},

		"NoSelector":              {"It is required, though not by the schema.", `{"spec":{"selector":null}}`, "spec.selector"},
		"SelectorIsEmpty":         {"Would select every pod.", `{"spec":{"selector":{"matchLabels":null}}}`, "spec.selector"},
		"SelectorDoesNotMatch":    {"Would never find its pods.", `{"spec":{"selector":{"matchLabels":{"app":"other"}}}}`, "spec.template.metadata.labels"},
		"SelectorOperatorFoo":     {"The controller refuses it only in its log.", `{"spec":{"selector":{"matchExpressions":[{"key":"app","operator":"Foo"}]}}}`, "spec.selector.matchExpressions[0].operator"},
		"SelectorInWithoutValues": {"In without values matches no pod.", `{"spec":{"selector":{"matchExpressions":[{"key":"app","operator":"In"}]}}}`, "spec.selector.matchExpressions[0].values"},
		"SelectorExistsWithValue": {"Exists takes no value.", `{"spec":{"selector":{"matchExpressions":[{"key":"app","operator":"Exists","values":["x"]}]}}}`, "spec.selector.matchExpressions[0].values"},
		"ExpressionDoesNotMatch":  {"Would never find its pods.", `{"spec":{"selector":{"matchExpressions":[{"key":"tier","operator":"Exists"}]}}}`, "spec.template.metadata.labels"},
		"SelectorHasOwnLabel":     {"The controller refuses it only in its log.", `{"spec":{"selector":{"matchLabels":{"rollouts-pod-template-hash":"x"}},"template":{"metadata":{"labels":{"rollouts-pod-template-hash":"x"}}}}}`, "spec.selector.matchLabels[rollouts-pod-template-hash] spec.template.metadata.labels[rollouts-pod-template-hash]"},
		"SelectorValueTooLong":    {"The controller refuses it only in its log.", `{"spec":{"selector":{"matchLabels":{"app":"` + long + `"}},"template":{"metadata":{"labels":{"app":"` + long + `"}}}}}`, "spec.selector.matchLabels[app] spec.template.metadata.labels[app]"},

		"NoTemplate":               {"A Rollout has a template or a workloadRef.", `{"spec":{"template":null}}`, "spec.template"},
		"TemplateWithoutContainer": {"A pod has one.", podOf(`{"containers":null}`), "spec.template.spec.containers"},
		"TemplateNoContainers":     {"A pod has one.", podOf(`{"containers":[]}`), "spec.template.spec.containers"},
		"ContainerWithoutImage":    {"A container runs one.", podOf(`{"containers":[{"name":"web"}]}`), "spec.template.spec.containers[0].image"},
		"RestartPolicyOnFailure":   {"Pods of a Rollout restart always.", podOf(`{"restartPolicy":"OnFailure"}`), "spec.template.spec.restartPolicy"},
		"TemplateLabelInvalid":     {"A label of the template has a label value.", `{"spec":{"template":{"metadata":{"labels":{"x":"a b"}}}}}`, "spec.template.metadata.labels[x]"},
		"TemplateHasHashLabel":     {"The hash label is a ReplicaSet's own.", `{"spec":{"template":{"metadata":{"labels":{"pod-template-hash":"x"}}}}}`, "spec.template.metadata.labels[pod-template-hash]"},
		"TemplateHasName":          {"The CRD drops it.", `{"spec":{"template":{"metadata":{"name":"x","finalizers":["a/b"]}}}}`, "spec.template.metadata"},

		"TwoNamesForOnePort":   {"The CRD reads ports as a map. So a Deployment may have this, and a Rollout may not.", containerOf(`"ports":[{"name":"http","containerPort":80},{"name":"web","containerPort":80,"protocol":"TCP"}]`), containerPath + "ports[1]"},
		"PortOfTwoProtocols":   {"Two protocols make two ports of one number.", containerOf(`"ports":[{"name":"dns","containerPort":53},{"name":"dns-udp","containerPort":53,"protocol":"UDP"}]`), ""},
		"VariableTwice":        {"The CRD reads variables as a map.", containerOf(`"env":[{"name":"A","value":"1"},{"name":"B","value":"1"},{"name":"A","value":"2"}]`), containerPath + "env[2]"},
		"VariableTwiceInInit":  {"Each container has its own.", podOf(`{"initContainers":[{"name":"init","image":"init:1","env":[{"name":"A"},{"name":"A"}]}]}`), "spec.template.spec.initContainers[0].env[1]"},
		"HostAliasTwice":       {"The CRD reads them as a map.", podOf(`{"hostAliases":[{"ip":"10.0.0.1","hostnames":["a"]},{"ip":"10.0.0.1","hostnames":["b"]}]}`), "spec.template.spec.hostAliases[1]"},
		"PullSecretTwice":      {"The CRD reads them as a map.", podOf(`{"imagePullSecrets":[{"name":"a"},{"name":"a"}]}`), "spec.template.spec.imagePullSecrets[1]"},
		"HashInMatchLabelKeys": {"Pods of a Rollout do not have the label.", podOf(`{"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"web"}},"matchLabelKeys":["tier","pod-template-hash"]}]}`), "spec.template.spec.topologySpreadConstraints[0].matchLabelKeys[1]"},
		"HashInAffinity":       {"The hash label is refused in an affinity too.", podOf(`{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{},"mismatchLabelKeys":["pod-template-hash"]}]},"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"zone","labelSelector":{},"matchLabelKeys":["pod-template-hash"]}}]}}}`), "spec.template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].mismatchLabelKeys[0] spec.template.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.matchLabelKeys[0]"},
		"RolloutsHashIsRight":  {"That label tells versions apart.", podOf(`{"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"web"}},"matchLabelKeys":["rollouts-pod-template-hash"]}]}`), ""},

		"CanaryLabelOfTheSelector": {"Its ReplicaSet would not select the pods.", canaryOf(`{"canaryMetadata":{"labels":{"app":"canary"}}}`), "spec.strategy.canary.canaryMetadata.labels"},
		"StableLabelOfTheSelector": {"stableMetadata may not change a label that the selector needs.", canaryOf(`{"stableMetadata":{"labels":{"app":"stable"}}}`), "spec.strategy.canary.stableMetadata.labels"},
		"CanaryLabelExcluded":      {"An expression of the selector excludes the label.", `{"spec":{"selector":{"matchExpressions":[{"key":"track","operator":"DoesNotExist"}]},"strategy":{"canary":{"canaryMetadata":{"labels":{"track":"canary"}}}}}}`, "spec.strategy.canary.canaryMetadata.labels"},
		"CanaryLabelAsSelected":    {"The same value changes nothing.", canaryOf(`{"canaryMetadata":{"labels":{"app":"web","track":"canary"}},"stableMetadata":{"labels":{"track":"stable"},"annotations":{"a":"b"}}}`), ""},
		"CanaryLabelIllegal":       {"The ReplicaSet is refused.", canaryOf(`{"canaryMetadata":{"labels":{"track":"not legal","a/b/c":"x"}}}`), "spec.strategy.canary.canaryMetadata.labels[a/b/c] spec.strategy.canary.canaryMetadata.labels[track]"},
		"CanaryAnnotationIllegal":  {"The ReplicaSet is refused.", canaryOf(`{"canaryMetadata":{"annotations":{"a/b/c":"x"}}}`), "spec.strategy.canary.canaryMetadata.annotations"},
		"CanaryLabelIsTheHash":     {"The hash label is the controller's own.", canaryOf(`{"canaryMetadata":{"labels":{"rollouts-pod-template-hash":"x"}}}`), "spec.strategy.canary.canaryMetadata.labels[rollouts-pod-template-hash]"},
		"CanaryLabelIsANumber":     {"A label is a string.", canaryOf(`{"canaryMetadata":{"labels":{"track":1}}}`), "spec.strategy.canary.canaryMetadata"},
		"TwoDryRunsOfOneMetric":    {"The controller refuses the spec.", stepsOf(twenty, `{"analysis":{"templates":[{"templateName":"errors"}],"dryRun":[{"metricName":"x"},{"metricName":"x"}]}}`), "spec.strategy.canary.steps[1].analysis.dryRun[1]"},
		"TwoRetentionsOfOneMetric": {"The controller refuses the spec.", canaryOf(`{"analysis":{"templates":[{"templateName":"errors"}],"measurementRetention":[{"metricName":"x","limit":1},{"metricName":"x","limit":2}]}}`), "spec.strategy.canary.analysis.measurementRetention[1]"},

		"ReplicasNegative":      {"Replicas are zero or more.", `{"spec":{"replicas":-1}}`, "spec.replicas"},
		"ReadyAfterTheDeadline": {"The default deadline is 600.", `{"spec":{"minReadySeconds":700}}`, "spec.progressDeadlineSeconds"},
		"ReadyAtTheDeadline":    {"A pod must be ready before the deadline.", `{"spec":{"minReadySeconds":600}}`, "spec.progressDeadlineSeconds"},
		"MinReadyNegative":      {"Seconds are zero or more.", `{"spec":{"minReadySeconds":-1}}`, "spec.minReadySeconds"},
		"DeadlineZero":          {"Not more than minReadySeconds.", `{"spec":{"progressDeadlineSeconds":0}}`, "spec.progressDeadlineSeconds"},
		"HistoryNegative":       {"A limit is zero or more.", `{"spec":{"revisionHistoryLimit":-1}}`, "spec.revisionHistoryLimit"},

		"CanaryServiceIsStable":     {"Canary and stable are two Services.", canaryOf(`{"canaryService":"a","stableService":"a"}`), "spec.strategy.canary.stableService"},
		"ScaleDownDelayNoRouting":   {"The delay has an effect with trafficRouting only.", canaryOf(`{"scaleDownDelaySeconds":5}`), "spec.strategy.canary.scaleDownDelaySeconds"},
		"DynamicScaleNoRouting":     {"The scale has an effect with trafficRouting only.", canaryOf(`{"dynamicStableScale":true}`), "spec.strategy.canary.dynamicStableScale"},
		"IgnoredWithoutRouting":     {"Of trafficRouting, and without it ignored.", canaryOf(`{"minPodsPerReplicaSet":2,"abortScaleDownDelaySeconds":1,"scaleDownDelayRevisionLimit":1,"pingPong":{"pingService":"a","pongService":"b"}}`), "spec.strategy.canary.abortScaleDownDelaySeconds spec.strategy.canary.minPodsPerReplicaSet spec.strategy.canary.pingPong spec.strategy.canary.scaleDownDelayRevisionLimit"},
		"ThresholdOfTypeFoo":        {"Upstream would count an unknown type as Pods.", canaryOf(`{"replicaProgressThreshold":{"type":"Foo","value":0}}`), "spec.strategy.canary.replicaProgressThreshold.type spec.strategy.canary.replicaProgressThreshold.value"},
		"ThresholdOfAutoscaled":     {"Who sets the replicas may set more.", `{"spec":{"replicas":null,"strategy":{"canary":{"replicaProgressThreshold":{"type":"Pods","value":3}}}}}`, ""},
		"ThresholdZeroAutoscaled":   {"But it counts something.", `{"spec":{"replicas":null,"strategy":{"canary":{"replicaProgressThreshold":{"type":"Pods","value":0}}}}}`, "spec.strategy.canary.replicaProgressThreshold.value"},
		"ThresholdIsRight":          {"A valid threshold is carried.", canaryOf(`{"replicaProgressThreshold":{"type":"Percent","value":80}}`), ""},
		"AnalysisWithoutTemplates":  {"The step would wait forever.", stepsOf(twenty, `{"analysis":{}}`), "spec.strategy.canary.steps[1].analysis.templates"},
		"AnalysisWithoutName":       {"An analysis names its templates.", stepsOf(twenty, `{"analysis":{"templates":[{}]}}`), "spec.strategy.canary.steps[1].analysis.templates[0].templateName"},
		"AnalysisIsAWait":           {"It decides, as a person does at a pause.", stepsOf(twenty, `{"analysis":{"templates":[{"templateName":"errors"}]}}`), ""},
		"BackgroundAnalysis":        {"An analysis in the background needs templates too.", canaryOf(`{"analysis":{}}`), "spec.strategy.canary.analysis.templates"},
		"NameIsNone":                {"The name is a DNS name.", `{"metadata":{"name":"Web_1"}}`, "metadata.name"},
		"NameTooLongForReplicaSets": {"Its ReplicaSets could not be named.", `{"metadata":{"name":"` + strings.Repeat("a", 243) + `"}}`, "metadata.name"},
		"LongestName":               {"A name of the greatest length is accepted.", `{"metadata":{"name":"` + strings.Repeat("a", 242) + `"}}`, ""},
	}
}

//req:shows R3
func TestBadRollouts(t *testing.T) {
	for name, tc := range badRollouts() {
		t.Run(name, func(t *testing.T) {
			errs := checked(t, tc.patch)
			assert.Equal(t, strings.Fields(tc.want), append([]string{}, paths(errs)...), "%s\n%v", tc.reason, errs)
			for _, e := range errs {
				assert.NotEmpty(t, e.Detail, "the accepted values: %v", e)
			}
			assert.Len(t, errs, len(paths(errs)), "each once")
			warned := len(patchedRollout(t, tc.patch).Warnings()) > 0
			assert.Equal(t, legal(name), warned, "what upstream carries out is a warning")
		})
	}
}

// patchedRollout is the safe canary after a JSON merge patch.
func patchedRollout(t *testing.T, patch string) *rollout.Rollout {
	t.Helper()
	data, err := json.Marshal(patched(t, manifest(t, canary(t)), patch).Object)
	require.NoError(t, err)
	r := new(rollout.Rollout)
	require.NoError(t, json.Unmarshal(data, r))
	return r
}

const (
	twenty    = `{"setWeight":20}`
	manual    = `{"pause":{}}`
	pausePath = "spec.strategy.canary.steps[1].pause.duration"
)

var long = strings.Repeat("a", 64)

func canaryOf(patch string) string { return `{"spec":{"strategy":{"canary":` + patch + `}}}` }

func stepsOf(steps ...string) string {
	return canaryOf(`{"steps":[` + strings.Join(steps, ",") + `]}`)
}

func pauseOf(duration string) string { return stepsOf(twenty, `{"pause":{"duration":`+duration+`}}`) }

func podOf(patch string) string { return `{"spec":{"template":{"spec":` + patch + `}}}` }

const containerPath = "spec.template.spec.containers[0]."

func containerOf(fields string) string {
	return podOf(`{"containers":[{"name":"web","image":"web:1",` + fields + `}]}`)
}

// routed adds a traffic router to a patch of the canary.
func routed(patch string) string {
	return strings.Replace(patch, `"canary":{`, `"canary":{"trafficRouting":{"plugins":{"x":{}}},`, 1)
}

// The message says what to write instead.
func TestConvert_SaysWhatToWrite(t *testing.T) {
	for patch, want := range map[string]string{
		canaryOf(`{"maxSurge":"1"}`):           `is the string "1"; use intstr.FromInt32(1)`,
		canaryOf(`{"maxUnavailable":"2"}`):     `or a percentage such as "25%"`,
		canaryOf(`{"maxSurge":"abc"}`):         "a whole number such as 1",
		stepsOf(twenty, `{}`, manual):          "exactly one of setWeight | pause",
		stepsOf(`{"setWeight":20,"pause":{}}`): `"setWeight and pause": must be exactly one action`,
		stepsOf(manual):                        "put a setWeight before the pause",
		`{"spec":{"replicas":1,"strategy":{"canary":{"maxSurge":0,"maxUnavailable":1}}}}`: "at weight 20 no pod of the new version",
	} {
		errs := checked(t, patch)
		require.Len(t, errs, 1, patch)
		assert.Contains(t, errs[0].Error(), want)
	}
}
