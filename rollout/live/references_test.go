// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// objects are the objects of a cluster by "resource/namespace/name", and what
// they hold besides.
type objects map[string]string

// reader reads them, and writes down what was asked.
func (o objects) reader(t *testing.T, asked *[]string) live.Get {
	t.Helper()
	return func(_ context.Context, gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
		key := gvr.Resource + "/" + namespace + "/" + name
		*asked = append(*asked, key)
		content, ok := o[key]
		if !ok {
			return nil, apierrors.NewNotFound(gvr.GroupResource(), name)
		}
		u := &unstructured.Unstructured{Object: map[string]any{}}
		require.NoError(t, yaml.Unmarshal([]byte(content), &u.Object))
		return u, nil
	}
}

func canary(patch func(*rollout.Canary)) *rollout.Rollout {
	r := ro()
	labels := map[string]string{"app": "web"}
	r.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	r.Spec.Template = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	r.Spec.Strategy.Canary = &rollout.Canary{Steps: []rollout.Step{rollout.SetWeight(20), rollout.PauseManual()}}
	patch(r.Spec.Strategy.Canary)
	return r
}

func referring(kind string) *rollout.Rollout {
	r := canary(func(*rollout.Canary) {})
	r.Spec.Template, r.Spec.WorkloadRef = nil, &rollout.WorkloadRef{Kind: kind, Name: "web"}
	return r
}

func steps(steps ...rollout.Step) *rollout.Rollout {
	return canary(func(c *rollout.Canary) { c.Steps = steps })
}

func analysis(templates ...any) rollout.Step {
	return rollout.Step{Analysis: map[string]any{"templates": templates}}
}

func template(name string) map[string]any { return map[string]any{"templateName": name} }

func clusterTemplate(name string) map[string]any {
	return map[string]any{"templateName": name, "clusterScope": true}
}

func plugin(name string) rollout.Step { return rollout.Step{Plugin: map[string]any{"name": name}} }

func TestReferences(t *testing.T) {
	const (
		deployment = "spec: {template: {metadata: {labels: {app: web, x: y}}}}"
		selecting  = "spec: {selector: {app: web, rollouts-pod-template-hash: abc}}"
		finite     = "spec: {args: [{name: times, value: '3'}], metrics: [{name: errors, interval: 5s, count: 3}, {name: once}, {name: argument, interval: 5s, count: '{{args.times}}'}]}"
		forever    = "spec: {metrics: [{name: errors, interval: 5s}]}"
		plugins    = "data: {stepPlugins: '[{name: team/approve}, {name: team/load}]'}"
		in         = "spec.strategy.canary."
	)
	services := canary(func(c *rollout.Canary) { c.StableService, c.CanaryService = "stable", "canary" })
	blueGreen := ro()
	blueGreen.Spec.Strategy.BlueGreen = map[string]any{
		"activeService": "active", "previewService": "preview",
		"prePromotionAnalysis": map[string]any{"templates": []any{template("smoke")}}, "postPromotionAnalysis": map[string]any{"templates": []any{template("after")}},
	}
	ofPodTemplate := referring("PodTemplate")
	ofPodTemplate.Spec.Selector.MatchLabels = map[string]string{"tier": "front"}
	own := referring("Deployment")
	own.Spec.Selector = nil
	own.Spec.Strategy.Canary.StableService = "stable"
	cases := map[string]struct {
		reason  string
		rollout *rollout.Rollout
		has     objects
		want    []string // type, path and part of the message
	}{
		"NothingIsReferredTo": {"The safe canary asks nothing.", canary(func(*rollout.Canary) {}), nil, nil},
		"AllIsThere":          {"Nothing to say.", services, objects{"services/shop/stable": selecting, "services/shop/canary": selecting}, nil},
		"NoServices": {"Both are reported.", services, nil, []string{
			"NotFound " + in + "stableService: no such Service in namespace shop; create it", "NotFound " + in + "canaryService: no such Service",
		}},
		"ServiceOfOtherPods": {"Each label that does not fit.", services, objects{"services/shop/stable": "spec: {selector: {app: other, tier: web}}", "services/shop/canary": selecting}, []string{
			"Invalid " + in + "stableService: selects app=other", "Invalid " + in + "stableService: selects tier=web",
		}},
		"ServiceWithoutSelector": {"The controller gives it one.", services, objects{"services/shop/stable": "spec: {type: ClusterIP}", "services/shop/canary": "spec: {selector: {rollouts-pod-template-hash: abc}}"}, nil},
		"ServiceOfStableMetadata": {"The stable pods have the label. Releases up to v1.10.1 do not count it.", canary(func(c *rollout.Canary) {
			c.StableService, c.StableMetadata = "stable", map[string]any{"labels": map[string]any{"track": "stable"}}
		}), objects{"services/shop/stable": "spec: {selector: {app: web, track: stable}}"}, nil},
		"ServiceOfAnotherTrack": {"No pod has that value.", canary(func(c *rollout.Canary) {
			c.StableService, c.StableMetadata = "stable", map[string]any{"labels": map[string]any{"track": "stable"}}
		}), objects{"services/shop/stable": "spec: {selector: {app: web, track: old}}"}, []string{"Invalid " + in + "stableService: selects track=old"}},
		"ServiceOfAnotherRollout": {"One of both.", services, objects{
			"services/shop/stable": "metadata: {annotations: {argo-rollouts.argoproj.io/managed-by-rollouts: other}}\n" + selecting,
			"services/shop/canary": "metadata: {annotations: {argo-rollouts.argoproj.io/managed-by-rollouts: web}}\n" + selecting,
		}, []string{"Invalid " + in + "stableService: Rollout other has this Service"}},
		"PingPong": {"Services too.", canary(func(c *rollout.Canary) {
			c.PingPong = map[string]any{"pingService": "ping", "pongService": "pong"}
		}), nil, []string{"NotFound " + in + "pingPong.pingService: Service", "NotFound " + in + "pingPong.pongService: Service"}},
		"BlueGreen": {"Carried, and looked at.", blueGreen, objects{"analysistemplates/shop/after": forever}, []string{
			"NotFound spec.strategy.blueGreen.activeService: Service", "NotFound spec.strategy.blueGreen.previewService: Service",
			"NotFound spec.strategy.blueGreen.prePromotionAnalysis.templates[0].templateName: AnalysisTemplate",
			"Invalid spec.strategy.blueGreen.postPromotionAnalysis.templates[0].templateName: errors",
		}},

		"Workload":      {"It is there, and its pods are selected.", referring("Deployment"), objects{"deployments/shop/web": deployment}, nil},
		"NoWorkload":    {"Refused by the controller again and again, every 20 s.", referring("ReplicaSet"), nil, []string{"NotFound spec.workloadRef.name: no such ReplicaSet in namespace shop"}},
		"OfAnotherKind": {"A Deployment with the name is not a ReplicaSet.", referring("ReplicaSet"), objects{"deployments/shop/web": deployment}, []string{"NotFound spec.workloadRef.name: ReplicaSet"}},
		"PodTemplate":   {"Its template is at another place.", referring("PodTemplate"), objects{"podtemplates/shop/web": "template: {metadata: {labels: {app: web}}}"}, nil},
		"OtherPods":     {"The selector of the Rollout finds none of them.", ofPodTemplate, objects{"podtemplates/shop/web": "template: {metadata: {labels: {app: web}}}"}, []string{"Invalid spec.workloadRef.name: must match spec.selector, which is tier=front"}},
		"StatefulSet":   {"Validate refuses it.", referring("StatefulSet"), nil, nil},
		"WithoutAName":  {"Validate refuses it.", func() *rollout.Rollout { r := referring("Deployment"); r.Spec.WorkloadRef.Name = ""; return r }(), nil, nil},
		"ServiceOfItsOwn": {"The labels come from the workload.", own, objects{"deployments/shop/web": deployment, "services/shop/stable": "spec: {selector: {x: z}}"}, []string{
			"Invalid " + in + "stableService: selects x=z",
		}},
		"LabelsAreNotKnown": {"Unknown labels are not compared.", own, objects{"services/shop/stable": selecting}, []string{"NotFound spec.workloadRef.name: Deployment"}},

		"Templates": {"Of the namespace and of the cluster.", steps(analysis(template("errors"), clusterTemplate("errors"))), objects{
			"analysistemplates/shop/errors": finite, "clusteranalysistemplates//errors": "spec: {metrics: [{name: other}]}",
		}, nil},
		"NoTemplates": {"With the path of each.", steps(rollout.SetWeight(20), analysis(template("errors"), clusterTemplate("slow"))), nil, []string{
			"NotFound " + in + "steps[1].analysis.templates[0].templateName: no such AnalysisTemplate in namespace shop; create",
			"NotFound " + in + "steps[1].analysis.templates[1].templateName: no such ClusterAnalysisTemplate; create",
		}},
		"Endless": {"A step would never be done.", steps(analysis(template("errors"))), objects{"analysistemplates/shop/errors": forever}, []string{
			"Invalid " + in + "steps[0].analysis.templates[0].templateName: metric errors of this AnalysisTemplate is measured forever; set its count",
		}},
		"CountIsZero": {"As if there were none.", steps(analysis(template("errors"))), objects{"analysistemplates/shop/errors": "spec: {metrics: [{name: errors, interval: 5s, count: 0}]}"}, []string{
			"Invalid " + in + "steps[0].analysis.templates[0].templateName: forever",
		}},
		"EndlessInTheBackground": {"It ends with the canary.", canary(func(c *rollout.Canary) { c.Analysis = analysis(template("errors")).Analysis }), objects{"analysistemplates/shop/errors": forever}, nil},
		"NoneInTheBackground":    {"Is missed no less.", canary(func(c *rollout.Canary) { c.Analysis = analysis(template("errors")).Analysis }), nil, []string{"NotFound " + in + "analysis.templates[0].templateName: AnalysisTemplate"}},
		"Nested": {"What a template names must be there too; a cycle ends.", steps(analysis(template("all"))), objects{
			"analysistemplates/shop/all":     "spec: {templates: [{templateName: errors}, {templateName: slow, clusterScope: true}, {templateName: all}]}",
			"clusteranalysistemplates//slow": "spec: {templates: [{templateName: all}]}",
		}, []string{"NotFound " + in + "steps[0].analysis.templates[0].templateName: AnalysisTemplate"}},
		"OneTemplateTwice": {"It counts once.", steps(analysis(template("errors"), template("errors"))), objects{"analysistemplates/shop/errors": finite}, nil},
		"TwoMetricsOfOneName": {"The controller refuses the spec.", steps(analysis(template("errors"), template("more"))), objects{
			"analysistemplates/shop/errors": finite, "analysistemplates/shop/more": "spec: {metrics: [{name: once}]}",
		}, []string{"Invalid " + in + "steps[0].analysis.templates: two metrics have this name"}},
		"TwoDryRunsOfOneMetric": {"Of the templates, and of one and the analysis.", steps(rollout.Step{Analysis: map[string]any{
			"templates": []any{template("errors"), template("more")}, "dryRun": []any{map[string]any{"metricName": "b"}},
		}}), objects{
			"analysistemplates/shop/errors": "spec: {dryRun: [{metricName: a}]}", "analysistemplates/shop/more": "spec: {dryRun: [{metricName: a}, {metricName: b}]}",
		}, []string{"Invalid " + in + "steps[0].analysis.templates: two rules of dryRun", "Invalid " + in + "steps[0].analysis.templates: two rules of dryRun"}},
		"TwoRetentionsOfOneMetric": {"The controller refuses the spec.", steps(analysis(template("errors"))), objects{
			"analysistemplates/shop/errors": "spec: {measurementRetention: [{metricName: a, limit: 1}, {metricName: a, limit: 2}]}",
		}, []string{"Invalid " + in + "steps[0].analysis.templates: two rules of measurementRetention"}},
		"TwoValuesOfOneArgument": {"The controller refuses the spec, also if the analysis has a third.", steps(rollout.Step{Analysis: map[string]any{
			"templates": []any{template("errors"), template("more")}, "args": []any{map[string]any{"name": "a", "value": "3"}},
		}}), objects{
			"analysistemplates/shop/errors": "spec: {args: [{name: a, value: '1'}, {name: b, value: '1'}, {name: c}]}",
			"analysistemplates/shop/more":   "spec: {args: [{name: a, value: '2'}, {name: b, value: '1'}, {name: c, value: '1'}]}",
		}, []string{"Invalid " + in + "steps[0].analysis.templates: two values for this argument"}},
		"UndeclaredArgument": {"The template must declare it by itself.", steps(analysis(template("errors"), template("more"))), objects{
			"analysistemplates/shop/errors": "spec: {metrics: [{name: a, count: 1, provider: {web: {url: 'http://{{ args.host }}/{{args.path}}/{{args.path}}'}}}]}",
			"analysistemplates/shop/more":   "spec: {args: [{name: path, value: x}]}",
		}, []string{"Invalid " + in + "steps[0].analysis.templates[0].templateName: metric a of this AnalysisTemplate takes {{args.host}}", "Invalid " + in + "steps[0].analysis.templates[0].templateName: takes {{args.path}}"}},
		"UndeclaredInTheBackground": {"Here another template may declare it.", canary(func(c *rollout.Canary) { c.Analysis = analysis(template("errors"), template("more")).Analysis }), objects{
			"analysistemplates/shop/errors": "spec: {metrics: [{name: a, provider: {web: {url: 'http://{{args.host}}/{{args.path}}'}}}]}",
			"analysistemplates/shop/more":   "spec: {args: [{name: path, value: x}]}",
		}, []string{"Invalid " + in + "analysis.templates[0].templateName: takes {{args.host}}"}},
		"OfAnExperiment": {"It fails without.", steps(rollout.Step{Experiment: map[string]any{"analyses": []any{template("errors"), clusterTemplate("slow")}}}), objects{"clusteranalysistemplates//slow": forever}, []string{
			"NotFound " + in + "steps[0].experiment.analyses[0].templateName: AnalysisTemplate",
		}},

		"Plugin": {"Configured.", steps(plugin("team/load")), objects{"configmaps/argo-rollouts/argo-rollouts-config": plugins}, nil},
		"OtherPlugin": {"The controller waits at the step, and reports nothing.", steps(rollout.SetWeight(20), plugin("other/load")), objects{"configmaps/argo-rollouts/argo-rollouts-config": plugins}, []string{
			"NotFound " + in + "steps[1].plugin.name: configured are team/approve, team/load; add it to stepPlugins in ConfigMap argo-rollouts-config of namespace argo-rollouts",
		}},
		"NoPlugins":        {"Without the ConfigMap there are none.", steps(plugin("team/load")), nil, []string{"NotFound " + in + "steps[0].plugin.name: configured are none"}},
		"OtherKeys":        {"Nor without the key.", steps(plugin("team/load")), objects{"configmaps/argo-rollouts/argo-rollouts-config": "data: {trafficRouterPlugins: '[{name: team/load}]'}"}, []string{"NotFound " + in + "steps[0].plugin.name: configured are none"}},
		"PluginsAreNoList": {"Not known.", steps(plugin("team/load")), objects{"configmaps/argo-rollouts/argo-rollouts-config": "data: {stepPlugins: '{'}"}, []string{"InternalError " + in + "steps[0].plugin.name: not known: stepPlugins in ConfigMap argo-rollouts-config"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var asked []string
			before := tc.rollout.DeepCopy()
			errs := live.References(t.Context(), tc.rollout, tc.has.reader(t, &asked), "")
			require.Len(t, errs, len(tc.want), "%s\n%v", tc.reason, errs)
			for i, want := range tc.want {
				head, message, _ := strings.Cut(want, ": ")
				assert.Equal(t, head, reasonOf(errs[i])+" "+errs[i].Field, tc.reason)
				assert.Contains(t, errs[i].Detail, message, tc.reason)
			}
			distinct := map[string]bool{}
			for _, a := range asked {
				distinct[a] = true
			}
			assert.Len(t, asked, len(distinct), "each once: %v", asked)
			assert.Equal(t, before, tc.rollout, "it is not changed")
		})
	}
}

// reasonOf is the name of the type's constant.
func reasonOf(e *field.Error) string {
	return strings.TrimPrefix(string(e.Type), "FieldValue")
}

// What a cluster does not tell is not taken for what it does not have.
func TestReferences_NotKnown(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	notServed := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse, Message: "404 page not found"}}},
	}}
	cases := map[string]struct {
		reason  string
		err     error
		want    field.ErrorType
		message string
	}{
		"NotThere":    {"The cluster answered: no.", apierrors.NewNotFound(services, "x"), field.ErrorTypeNotFound, "create it before the Rollout"},
		"NotServed":   {"The kind is not there either.", notServed, field.ErrorTypeNotFound, "the cluster does not serve this kind; install"},
		"NotAllowed":  {"It says which right.", apierrors.NewForbidden(services, "x", errors.New("no")), field.ErrorTypeForbidden, "get of services in namespace shop needs to be allowed to you"},
		"Unavailable": {"Not known.", apierrors.NewServiceUnavailable("starting"), field.ErrorTypeInternal, "not known: starting"},
		"NoAnswer":    {"Not known.", errors.New("connection refused"), field.ErrorTypeInternal, "not known: connection refused"},
		"NothingAtAll": {
			"A client that returns neither an object nor an error.", nil, field.ErrorTypeInternal, "no object",
		},
	}
	r := canary(func(c *rollout.Canary) { c.StableService = "x" })
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := live.References(t.Context(), r, func(context.Context, schema.GroupVersionResource, string, string) (*unstructured.Unstructured, error) {
				return nil, tc.err
			}, "")
			require.Len(t, errs, 1, tc.reason)
			assert.Equal(t, tc.want, errs[0].Type, tc.reason)
			assert.Equal(t, "spec.strategy.canary.stableService", errs[0].Field)
			assert.Contains(t, errs[0].Detail, tc.message, tc.reason)
		})
	}

	// The configuration of the controller is in another namespace, which many
	// may not read.
	for _, tc := range []struct {
		err  error
		want field.ErrorType
	}{{apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", nil), field.ErrorTypeForbidden}, {errors.New("refused"), field.ErrorTypeInternal}} {
		errs := live.References(t.Context(), steps(plugin("a/b")), func(_ context.Context, _ schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
			assert.Equal(t, "rollouts-system/argo-rollouts-config", namespace+"/"+name)
			return nil, tc.err
		}, "rollouts-system")
		require.Len(t, errs, 1)
		assert.Equal(t, tc.want, errs[0].Type)
	}
}

func TestReferences_AreBounded(t *testing.T) {
	var many []any
	for i := range 150 {
		many = append(many, template("t"+strconv.Itoa(i)))
	}
	var asked []string
	errs := live.References(t.Context(), steps(analysis(many...), analysis(many...)), objects{}.reader(t, &asked), "")
	assert.Len(t, asked, 100)
	require.Len(t, errs, 300, "and nothing is left out")
	assert.Equal(t, field.ErrorTypeNotFound, errs[99].Type)
	assert.Equal(t, field.ErrorTypeInternal, errs[100].Type)
	assert.Contains(t, errs[100].Detail, "after 100 others")
	assert.Equal(t, field.ErrorTypeNotFound, errs[150].Type, "what was read stays known")

	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	errs = live.References(ctx, steps(analysis(many[:5]...)), func(context.Context, schema.GroupVersionResource, string, string) (*unstructured.Unstructured, error) {
		calls++
		cancel()
		return nil, context.Canceled
	}, "")
	assert.Equal(t, 1, calls, "nothing is asked once ctx is done")
	require.Len(t, errs, 5)
	assert.Contains(t, errs[4].Detail, context.Canceled.Error())
}

func TestReferences_WrongArguments(t *testing.T) {
	never := func(context.Context, schema.GroupVersionResource, string, string) (*unstructured.Unstructured, error) {
		assert.Fail(t, "read")
		return nil, errors.New("read")
	}
	nowhere, broken := ro(), ro()
	nowhere.Namespace = ""
	broken.Spec.Analysis = map[string]any{"x": make(chan int)}
	for want, errs := range map[string]field.ErrorList{
		"rollout":            live.References(t.Context(), nil, never, ""),
		"get":                live.References(t.Context(), ro(), nil, ""),
		"metadata.namespace": live.References(t.Context(), nowhere, never, ""),
		"spec":               live.References(t.Context(), broken, never, ""),
	} {
		require.Len(t, errs, 1, want)
		if want != "get" {
			assert.Equal(t, want, errs[0].Field)
		}
	}
}
