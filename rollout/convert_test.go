// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
)

var _ interface {
	runtime.Object
	metav1.Object
} = (*rollout.Rollout)(nil)

//req:shows R1
func TestRender_OffIsTheSamePointer(t *testing.T) {
	d := agents()
	d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType // would be refused when on
	before := d.DeepCopy()
	obj, err := rollout.Render(d, false, rollout.Options{InstanceID: "x"})
	require.NoError(t, err)
	assert.Same(t, d, obj)
	assert.Equal(t, before, d)
}

//req:shows R3
func TestRender_On(t *testing.T) {
	obj, err := rollout.Render(web(), true, rollout.Options{})
	require.NoError(t, err)
	r, ok := obj.(*rollout.Rollout)
	require.True(t, ok)
	assert.Equal(t, rollout.GVK(), r.GroupVersionKind())
}

func TestRender_JoinsAllErrors(t *testing.T) {
	d := web()
	d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	d.Spec.Template.Spec.Containers[0].Image = ""
	obj, err := rollout.Render(d, true, rollout.Options{Steps: []rollout.Step{rollout.PauseManual()}})
	assert.Nil(t, obj, "nothing half-right to apply")
	for _, path := range []string{"spec.strategy.type", "spec.template.spec.containers[0].image", "spec.strategy.canary.steps[0].pause"} {
		require.ErrorContains(t, err, path)
	}
	var all utilerrors.Aggregate
	require.ErrorAs(t, err, &all)
	assert.Len(t, all.Errors(), 3)

	for _, enabled := range []bool{true, false} {
		obj, err = rollout.Render(nil, enabled, rollout.Options{})
		require.Error(t, err, "a nil pointer in an interface is not nil")
		assert.Nil(t, obj)
	}
}

// Switching it on changes apiVersion, kind and the strategy, and nothing else.
//
//req:shows R2
func TestConvert_ChangesOnlyKindAndStrategy(t *testing.T) {
	d := agents()
	d.Spec.Paused = true
	before := d.DeepCopy()
	r, errs := rollout.Convert(d, rollout.Options{})
	require.Empty(t, errs)
	assert.Equal(t, before, d, "the Deployment is not changed")

	off, on := asMap(t, d), asMap(t, r)
	delete(off, "status")
	assert.Equal(t, map[string]any{"canary": map[string]any{
		"maxSurge": 1.0, "maxUnavailable": 0.0,
		"steps": []any{map[string]any{"setWeight": 20.0}, map[string]any{"pause": map[string]any{}}},
	}}, at(on, "spec", "strategy"), "the safe canary")
	assert.Equal(t, "argoproj.io/v1alpha1", on["apiVersion"])
	assert.Equal(t, "Rollout", on["kind"])
	for _, m := range []map[string]any{off, on} {
		delete(m, "apiVersion")
		delete(m, "kind")
		delete(m["spec"].(map[string]any), "strategy")
	}
	assert.Equal(t, off, on)
}

// A field that a newer Kubernetes adds to Deployments must be thought about
// here.
func TestConvert_KnowsEveryFieldOfADeployment(t *testing.T) {
	known := []string{
		"Replicas", "Selector", "Template", "Strategy", "MinReadySeconds", "RevisionHistoryLimit", "Paused", "ProgressDeadlineSeconds",
	}
	var got []string
	spec := reflect.TypeFor[appsv1.DeploymentSpec]()
	for i := range spec.NumField() {
		got = append(got, spec.Field(i).Name)
	}
	assert.ElementsMatch(t, known, got)
}

func TestConvert_DropsServerFields(t *testing.T) {
	d := agents()
	d.UID, d.ResourceVersion, d.Generation = "u", "42", 7
	d.CreationTimestamp = metav1.Now()
	d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	d.Annotations["deployment.kubernetes.io/revision"] = "3"
	d.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "o"}}
	d.Finalizers = []string{"example.com/keep"}
	d.Status.Replicas = 5
	d.Spec.Template.Name, d.Spec.Template.CreationTimestamp = "dropped", metav1.Now()
	d.Spec.Paused = true
	r, errs := rollout.Convert(d, rollout.Options{})
	require.Empty(t, errs)

	meta := asMap(t, r)["metadata"].(map[string]any)
	assert.ElementsMatch(t, []string{"name", "namespace", "labels", "annotations", "ownerReferences"}, slices.Collect(maps.Keys(meta)), "a finalizer is the Deployment's")
	assert.Equal(t, map[string]string{"meta.helm.sh/release-name": "prod"}, r.Annotations)
	assert.NotContains(t, asMap(t, r), "status", "upstream's own type writes one into manifests")
	template := at(asMap(t, r), "spec", "template", "metadata").(map[string]any)
	assert.ElementsMatch(t, []string{"labels", "annotations"}, slices.Collect(maps.Keys(template)))
	assert.True(t, r.Spec.Paused, "taken over, though it holds at the current step there")
	container := at(asMap(t, canary(t)), "spec", "template", "spec", "containers").([]any)[0]
	assert.Contains(t, container, "resources", "or the controller adds it, and the generation becomes 2 immediately")
}

func TestConvert_SharesNoMemory(t *testing.T) {
	d := agents()
	o := rollout.Options{
		Steps:    []rollout.Step{rollout.SetWeight(30), {Analysis: map[string]any{"templates": []any{map[string]any{"templateName": "t"}}}}},
		MaxSurge: ptr.To(intOrString("2")), MaxUnavailable: ptr.To(intOrString("10%")),
	}
	r, errs := rollout.Convert(d, o)
	require.Empty(t, errs)
	notShared(t, "deployment", reflect.ValueOf(d), reflect.ValueOf(r))
	notShared(t, "options", reflect.ValueOf(o.Steps), reflect.ValueOf(r))
	assert.NotSame(t, o.MaxSurge, r.Spec.Strategy.Canary.MaxSurge)
	assert.NotSame(t, o.MaxUnavailable, r.Spec.Strategy.Canary.MaxUnavailable)
}

func TestOptions(t *testing.T) {
	steps := []rollout.Step{rollout.SetWeight(10), rollout.PauseFor(10 * time.Minute), rollout.SetWeight(50), rollout.PauseManual()}
	d := web()
	d.Labels = map[string]string{"team": "shop"}
	r, errs := rollout.Convert(d, rollout.Options{
		Steps: steps, MaxSurge: ptr.To(intOrString("25%")), MaxUnavailable: ptr.To(intOrString("1")),
		ProgressDeadlineAbort: true, InstanceID: "blue", OmitReplicas: true,
		Mutate: func(r *rollout.Rollout) { r.Annotations = map[string]string{"a": "b"} },
	})
	require.Empty(t, errs)
	assert.Equal(t, steps, r.Spec.Strategy.Canary.Steps)
	assert.Equal(t, "25%", r.Spec.Strategy.Canary.MaxSurge.String())
	assert.Equal(t, "1", r.Spec.Strategy.Canary.MaxUnavailable.String())
	assert.True(t, r.Spec.ProgressDeadlineAbort)
	assert.Equal(t, map[string]string{"argo-rollouts.argoproj.io/controller-instance-id": "blue", "team": "shop"}, r.Labels)
	assert.Nil(t, r.Spec.Replicas)
	assert.Equal(t, map[string]string{"a": "b"}, r.Annotations)
}

// TestConvert_KeepsAnExplicitStrategy: a live Deployment always has the 25% of
// the defaults, so a user may not have chosen them.
func TestConvert_KeepsAnExplicitStrategy(t *testing.T) {
	for name, tc := range map[string]struct {
		reason             string
		surge, unavailable *intstr.IntOrString
		want               [2]string
	}{
		"Default":         {"The server fills in 25%.", ptr.To(intOrString("25%")), ptr.To(intOrString("25%")), [2]string{"1", "0"}},
		"None":            {"The server fills in 25%.", nil, nil, [2]string{"1", "0"}},
		"NoSurge":         {"One more pod may not work.", ptr.To(intOrString("0")), ptr.To(intOrString("1")), [2]string{"0", "1"}},
		"SurgeOnly":       {"The other is the default.", ptr.To(intOrString("3")), nil, [2]string{"3", "25%"}},
		"UnavailableOnly": {"The other is the default.", nil, ptr.To(intOrString("0")), [2]string{"25%", "0"}},
		"Percentages":     {"Other percentages than the default are explicit.", ptr.To(intOrString("50%")), ptr.To(intOrString("10%")), [2]string{"50%", "10%"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := web()
			d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: tc.surge, MaxUnavailable: tc.unavailable}
			r, errs := rollout.Convert(d, rollout.Options{})
			require.Empty(t, errs)
			c := r.Spec.Strategy.Canary
			assert.Equal(t, tc.want, [2]string{c.MaxSurge.String(), c.MaxUnavailable.String()}, tc.reason)
			r, errs = rollout.Convert(d, rollout.Options{MaxSurge: ptr.To(intOrString("2")), MaxUnavailable: ptr.To(intOrString("0"))})
			require.Empty(t, errs)
			assert.Equal(t, "2", r.Spec.Strategy.Canary.MaxSurge.String(), "the caller has the last word")
		})
	}
}

// TestConvert_OfOnePodWithoutASurge: no canary can be made.
func TestConvert_OfOnePodWithoutASurge(t *testing.T) {
	d := web()
	d.Spec.Replicas = ptr.To[int32](1)
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intOrString("0")), MaxUnavailable: ptr.To(intOrString("1"))}
	_, errs := rollout.Convert(d, rollout.Options{})
	assert.Equal(t, []string{"spec.strategy.canary.steps[1].pause"}, paths(errs))
}

func TestConvert_Refuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*appsv1.Deployment, *rollout.Options)
		want   []string
	}{
		"Recreate": {"A Rollout has nothing like it.", func(d *appsv1.Deployment, _ *rollout.Options) {
			d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
		}, []string{"spec.strategy.type"}},
		"BeingDeleted": {"It would come back.", func(d *appsv1.Deployment, _ *rollout.Options) {
			d.DeletionTimestamp = ptr.To(metav1.Now())
		}, []string{"metadata.deletionTimestamp"}},
		"EmptySelector": {"Of a Deployment too.", func(d *appsv1.Deployment, _ *rollout.Options) {
			d.Spec.Selector = &metav1.LabelSelector{}
		}, []string{"spec.selector"}},
		"NoSelector": {"Of a Deployment too.", func(d *appsv1.Deployment, _ *rollout.Options) {
			d.Spec.Selector = nil
		}, []string{"spec.selector"}},
		"SelectorDoesNotMatch": {"Of a Deployment too.", func(d *appsv1.Deployment, _ *rollout.Options) {
			d.Spec.Template.Labels = map[string]string{"app": "other"}
		}, []string{"spec.template.metadata.labels"}},
		"BadInstanceID": {"It is a label.", func(_ *appsv1.Deployment, o *rollout.Options) {
			o.InstanceID = "a b"
		}, []string{"metadata.labels[argo-rollouts.argoproj.io/controller-instance-id]"}},
		"PauseOfNothing": {"A pause of nothing is not rounded up.", func(_ *appsv1.Deployment, o *rollout.Options) {
			o.Steps = []rollout.Step{rollout.SetWeight(20), rollout.PauseFor(0)}
		}, []string{"spec.strategy.canary.steps[1].pause.duration"}},
		"PauseOfMilliseconds": {"Milliseconds are not rounded.", func(_ *appsv1.Deployment, o *rollout.Options) {
			o.Steps = []rollout.Step{rollout.SetWeight(20), rollout.PauseFor(1500 * time.Millisecond)}
		}, []string{"spec.strategy.canary.steps[1].pause.duration"}},
		"PauseOfCenturies": {"More than the controller can count.", func(_ *appsv1.Deployment, o *rollout.Options) {
			o.Steps = []rollout.Step{rollout.SetWeight(20), rollout.PauseFor(200 * 365 * 24 * time.Hour)}
		}, []string{"spec.strategy.canary.steps[1].pause.duration"}},
		"AllAtOnce": {"One call reports every error.", func(d *appsv1.Deployment, o *rollout.Options) {
			d.Name = ""
			d.Spec.Replicas = ptr.To[int32](-1)
			o.MaxSurge = ptr.To(intOrString("0"))
			o.Steps = []rollout.Step{rollout.SetWeight(0), rollout.SetWeight(100), rollout.SetWeight(50)}
		}, []string{
			"metadata.name", "spec.replicas", "spec.strategy.canary.maxSurge", "spec.strategy.canary.steps",
			"spec.strategy.canary.steps[0].setWeight", "spec.strategy.canary.steps[1].setWeight",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, o := web(), rollout.Options{}
			tc.change(d, &o)
			r, errs := rollout.Convert(d, o)
			assert.Nil(t, r, tc.reason)
			assert.Equal(t, tc.want, paths(errs), tc.reason)
		})
	}
	_, errs := rollout.Convert(nil, rollout.Options{})
	assert.Equal(t, []string{"deployment"}, paths(errs))
}

func TestConvert_ChecksTheResultOfMutate(t *testing.T) {
	cases := map[string]struct {
		reason string
		patch  string
		want   []string
	}{
		"EveryFieldOfUpstreams": {"That is what it is for.", canaryOf(`{"antiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}},"canaryMetadata":{"labels":{"role":"canary"}}}`), nil},
		"Routing":               {"Mutate may set trafficRouting.", canaryOf(`{"trafficRouting":{"nginx":{"stableIngress":"web"}},"canaryService":"c","stableService":"s"}`), nil},
		"EmptyRouting":          {"Without a provider the stable pods stay.", canaryOf(`{"trafficRouting":{},"canaryService":"c","stableService":"s"}`), nil},
		"EmptyRoutingScales":    {"Without it this is refused.", canaryOf(`{"trafficRouting":{},"canaryService":"c","stableService":"s","dynamicStableScale":true}`), nil},
		"Reference":             {"The template is the Deployment's.", `{"spec":{"workloadRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`, []string{"spec.workloadRef"}},
		"NoTemplate":            {"Mutate may not remove the template.", `{"spec":{"template":null}}`, []string{"spec.template"}},
		"BlueGreen":             {"Convert makes canaries.", `{"spec":{"strategy":{"canary":null,"blueGreen":{"activeService":"a"}}}}`, []string{"spec.strategy.blueGreen", "spec.strategy.canary"}},
		"Status":                {"The status is the controller's.", `{"status":{"phase":"Healthy"}}`, []string{"status"}},
		"BadStep":               {"It must be possible.", stepsOf(`{"setWeight":0}`, manual), []string{"spec.strategy.canary.steps[0].setWeight"}},
		"NoMetadata":            {"Mutate may not remove the metadata.", `{"metadata":null}`, []string{"metadata.name"}},
		"AnalysisWithoutSteps":  {"All pods are replaced while it runs.", canaryOf(`{"steps":null,"analysis":{"templates":[{"templateName":"errors"}]}}`), []string{"spec.strategy.canary.steps"}},
		"SelectorOfTheHash":     {"The controller refuses it only in its log.", `{"spec":{"selector":{"matchExpressions":[{"key":"rollouts-pod-template-hash","operator":"DoesNotExist"}]}}}`, []string{"spec.selector.matchExpressions[0].key"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, paths(checked(t, tc.patch)), tc.reason)
		})
	}
	_, errs := rollout.Convert(web(), rollout.Options{Mutate: func(r *rollout.Rollout) {
		r.Spec.Analysis = map[string]any{"x": make(chan int)}
	}})
	assert.Equal(t, []string{"spec"}, paths(errs), "JSON has no channels")
}

func TestRollout_MarshalsToEqualBytes(t *testing.T) {
	want, err := json.Marshal(canary(t))
	require.NoError(t, err)
	for range 20 {
		got, err := json.Marshal(canary(t))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
	}
}

func TestConvert_LeavesThePodToTheServer(t *testing.T) { // of what a server knows better
	d := web()
	d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "a b", Operator: "Sometimes"}}
	_, errs := rollout.Convert(d, rollout.Options{})
	assert.Empty(t, errs)
}

func asMap(t *testing.T, v any) map[string]any {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(data, &m))
	return m
}

func at(m map[string]any, path ...string) any {
	var v any = m
	for _, name := range path {
		v = v.(map[string]any)[name]
	}
	return v
}
