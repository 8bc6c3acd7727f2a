// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	service = "# a comment\napiVersion: v1\nkind:   Service\nmetadata: {name: web} # kept\n"
	web     = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`
	webRollout = `apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata:
  name: web
  namespace: shop
spec:
  replicas: 5
  selector:
    matchLabels:
      app: web
  strategy:
    canary:
      maxSurge: 1
      maxUnavailable: 0
      steps:
      - setWeight: 20
      - pause: {}
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - image: web:1
        name: web
        resources: {}
`
	webJSON = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"replicas":5,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1"}]}}}}`
	settled = "status: {observedGeneration: 1, replicas: 5, updatedReplicas: 5, availableReplicas: 5}\n"
	scaler  = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: shop}\nspec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
	liveWeb = "metadata: {name: web, namespace: shop, generation: 1, uid: 4c1e, labels: {app.kubernetes.io/instance: of-argo-cd}}\n"
)

// liveDeployment is what kubectl get prints.
var liveDeployment = strings.Replace(web, "metadata:\n  name: web\n  namespace: shop\n", liveWeb, 1) + settled

func command(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(args, strings.NewReader(in), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestRender(t *testing.T) {
	cases := map[string]struct {
		reason   string
		in, want string
		args     []string
	}{
		"OneDeployment":  {"The safe canary.", web, webRollout, nil},
		"AmongOthers":    {"The rest byte for byte.", service + "---\n" + web + "--- # next\r\n" + service + "...\n", service + "---\n" + webRollout + "--- # next\r\n" + service + "...\n", nil},
		"CommentInFront": {"As Helm writes it.", "---\n# Source: web.yaml\n" + web, "---\n# Source: web.yaml\n" + webRollout, nil},
		"NoDeployment":   {"Nothing to do.", service, service, nil},
		"Nothing":        {"Nothing at all.", "", "", nil},
		"NoNewlineAtEnd": {"Kept so.", "---\n---\nkind: Service", "---\n---\nkind: Service", nil},
		"OddDocuments":   {"Not this program's business.", "- a\n- b\n---\njust text\n---\nspec: text\nmetadata: 3\n---\n%x\n", "- a\n- b\n---\njust text\n---\nspec: text\nmetadata: 3\n---\n%x\n", nil},
		"RolloutAlready": {"YAML in, YAML out is stable.", webRollout, webRollout, nil},
		"JSON":           {"Is YAML.", webJSON, webRollout, nil},
		"OnTheSeparator": {"The separator is not a part of it.", service + "--- " + webJSON + "\n", service + "---\n" + webRollout, nil},
		"Flags":          {"As asked.", web, strings.NewReplacer("maxSurge: 1", "maxSurge: 25%", "setWeight: 20", "setWeight: 50", "  replicas: 5\n", "  progressDeadlineAbort: true\n", "  namespace: shop\n", "  namespace: shop\n", "metadata:\n  name", "metadata:\n  labels:\n    argo-rollouts.argoproj.io/controller-instance-id: x\n  name").Replace(webRollout), []string{"-max-surge", "25%", "-steps", `[{"setWeight":50},{"pause":{}}]`, "-abort-on-deadline", "-instance-id", "x", "-omit-replicas"}},
		"Traffic":        {"Further fields are added to the canary.", web, strings.Replace(webRollout, "      maxSurge: 1\n", "      canaryService: web-canary\n      maxSurge: 1\n", 1), []string{"-canary", "{canaryService: web-canary}"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, out, errs := command(t, tc.in, tc.args...)
			assert.Zero(t, code, errs)
			assert.Equal(t, tc.want, out, tc.reason)
			assert.Empty(t, errs)
			if tc.args == nil {
				_, again, _ := command(t, out)
				assert.Equal(t, out, again, "what it writes it leaves alone")
			}
		})
	}
}

func TestRenderOfChartValues(t *testing.T) {
	values := func(s string) string { return write(t, "values.yaml", s) }
	code, out, _ := command(t, web, "-values", values("progressiveDelivery: {enabled: false}\n"))
	assert.Zero(t, code)
	assert.Equal(t, web, out, "off, byte for byte")

	code, out, _ = command(t, web, "-values", values("other: 1\n"))
	assert.Zero(t, code)
	assert.Equal(t, web, out, "off")

	code, out, _ = command(t, web, "-values", values("progressiveDelivery: {enabled: true, canarySteps: [{setWeight: 60}, {pause: {duration: 10m}}]}\n"))
	assert.Zero(t, code)
	assert.Contains(t, out, "setWeight: 60")
	assert.Contains(t, out, "duration: 10m")

	code, out, errs := command(t, web, "-values", values("progressiveDelivery: {enabled: yes please, canarySteps: [{setWeight: 0}]}\n"))
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "values.yaml: progressiveDelivery: ")
	assert.Contains(t, errs, "enabled")

	for given, want := range map[string]string{
		"{enabled: true, provider: flagger}":              "progressiveDelivery.provider",
		"{enabled: true, steps: []}":                      "steps",
		"{enabled: true, canarySteps: [{setWieght: 20}]}": "setWieght",
		"{enabled: true, canarySteps: [{setWeight: 0}]}":  "spec.strategy.canary.steps[0].setWeight",
		"{enabled: true, canarySteps: {setWeight: 20}}":   "canarySteps",
	} {
		code, out, errs = command(t, web, "-values", values("progressiveDelivery: "+given+"\n"))
		assert.Equal(t, 1, code, given)
		assert.Empty(t, out)
		assert.Contains(t, errs, want)
	}
}

// TestRender_OnlyTheNamed: a chart may have a Deployment that is no canary, and
// its autoscaler stays too.
func TestRender_OnlyTheNamed(t *testing.T) {
	api := strings.ReplaceAll(web, "name: web", "name: api")
	hpa := strings.ReplaceAll(scaler, "name: web", "name: api")
	code, out, errs := command(t, web+"---\n"+api+"---\n"+hpa, "-only", "web")
	assert.Zero(t, code, errs)
	assert.Equal(t, webRollout+"---\n"+api+"---\n"+hpa, out)
	code, out, errs = command(t, web, "-only", "wep")
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "the input has no Deployment wep")
}

func TestRefused(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		args   []string
		want   []string
	}{
		"AllOfAllDocuments": {"One run reports the errors of every document.", strings.Replace(web, "replicas: 5", "replicas: -1\n  strategy: {type: Recreate}", 1) + "---\n" + service + "---\n" + strings.Replace(web, `"web:1"`, `""`, 1), nil, []string{
			"standard input: document 1: Deployment web: spec.replicas", "document 1: Deployment web: spec.strategy.type", "document 3: Deployment web: spec.template.spec.containers[0].image",
		}},
		"UnknownField":      {"It would be lost.", strings.Replace(web, "replicas: 5", "replicaz: 5", 1), nil, []string{"document 1: Deployment web", "replicaz"}},
		"DuplicateKey":      {"Which of both?", web + "kind: Deployment\n", nil, []string{"document 1", "kind"}},
		"OldVersion":        {"Gone since Kubernetes 1.16.", strings.Replace(web, "apps/v1", "extensions/v1beta1", 1), nil, []string{"apiVersion", "apps/v1"}},
		"NotYAML":           {"A template that was not rendered.", service + "---\nkind: {{ .Kind }}\n", nil, []string{"document 2"}},
		"DeploymentList":    {"Likewise.", "kind: DeploymentList\nitems: [{metadata: {name: web}}]\n", nil, []string{"document 1: DeploymentList", "documents"}},
		"DeploymentInAList": {"It would be passed over.", "kind: List\nitems: [{kind: Service}, {kind: Deployment, metadata: {name: web}}]\n", nil, []string{"document 1: List", "documents"}},
		"NoSuchFile":        {"It says which.", "", []string{"missing.yaml"}, []string{"missing.yaml"}},
		"NoSuchValues":      {"It says which.", "", []string{"-values", "missing.yaml"}, []string{"missing.yaml"}},
		"BadFence":          {"With its path.", web, []string{"-max-surge", "few"}, []string{"spec.strategy.canary.maxSurge"}},
		"NothingToPlan":     {"A plan needs a live workload.", service + "---\n" + web, []string{"-plan"}, []string{"one live Deployment", "the input has 0"}},
		"TwoToPlan":         {"Which of both?", liveDeployment + "---\n" + liveDeployment + "---\n" + web, []string{"-plan"}, []string{"the input has 2"}},
		"NoManifest":        {"The live object has the marks of other tools.", liveDeployment, []string{"-plan"}, []string{"no manifest of Deployment web"}},
		"PlanRefused":       {"With its path.", strings.Replace(liveDeployment, "updatedReplicas: 5", "updatedReplicas: 2", 1) + "---\n" + web, []string{"-plan"}, []string{"Deployment web: live.status"}},
		"NoWayBack":         {"A Deployment is needed.", webRollout, []string{"-rollback"}, []string{"no manifest of Deployment web"}},
		"UnknownScaler":     {"It may not know Rollouts, and would scale nothing.", web + "---\n" + strings.NewReplacer("HorizontalPodAutoscaler", "Canary", "scaleTargetRef", "targetRef").Replace(scaler), nil, []string{"spec.targetRef: Canary web names the workload web"}},
		"ScalerInAList":     {"It would pass as it is.", web + "---\nkind: List\nitems:\n" + item(scaler), nil, []string{"it has a HorizontalPodAutoscaler"}},
		"BadRolloutYAML":    {"A list of what?", webRollout + "---\nkind: List\nitems: 3\n", []string{"-rollback"}, []string{"document 2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, out, errs := command(t, tc.in, tc.args...)
			assert.Equal(t, 1, code, tc.reason)
			assert.Empty(t, out, "nothing half right")
			for _, want := range tc.want {
				assert.Contains(t, errs, want, tc.reason)
			}
		})
	}
}

func TestWrongUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"UnknownFlag": {"-x"}, "BothWays": {"-plan", "-rollback"}, "StepsAreNoList": {"-steps", "20,pause"},
		"BadCanary": {"-canary", "{canaryServise: web}"},
		"BadSteps":  {"-steps", `[{"setWieght":0},{"pause":{}}]`}, "StepsTwice": {"-steps", "[]", "-values", "v.yaml"},
	} {
		code, out, errs := command(t, web, args...)
		assert.Equal(t, 2, code, name)
		assert.Empty(t, out, name)
		assert.NotEmpty(t, errs, name)
	}
	code, _, errs := command(t, web, "-h")
	assert.Zero(t, code)
	assert.Contains(t, errs, "usage: rollout")
}

// TestRender_PointsAutoscalersAtTheRollout: on the Deployment that is gone they
// would scale nothing.
func TestRender_PointsAutoscalersAtTheRollout(t *testing.T) {
	ref := "apiVersion: apps/v1, kind: Deployment, name: web"
	for in, want := range map[string]string{
		scaler: "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  maxReplicas: 9\n" +
			"  scaleTargetRef:\n    apiVersion: argoproj.io/v1alpha1\n    kind: Rollout\n    name: web\n",
		"# Source: so.yaml\nkind: ScaledObject\nmetadata: {name: web}\nspec: {scaleTargetRef: {name: web}}\n": "# Source: so.yaml\nkind: ScaledObject\nmetadata:\n  name: web\nspec:\n" +
			"  scaleTargetRef:\n    apiVersion: argoproj.io/v1alpha1\n    kind: Rollout\n    name: web\n",
		"kind: VerticalPodAutoscaler\nmetadata: {name: web}\nspec: {targetRef: {" + ref + "}}\n": "kind: VerticalPodAutoscaler\nmetadata:\n  name: web\nspec:\n" +
			"  targetRef:\n    apiVersion: argoproj.io/v1alpha1\n    kind: Rollout\n    name: web\n",
	} {
		for _, out := range []string{web + "---\n" + in, in + "---\n" + web} {
			code, got, errs := command(t, out)
			assert.Zero(t, code)
			assert.Empty(t, errs)
			assert.Equal(t, strings.NewReplacer(web, webRollout, in, want).Replace(out), got)
		}
	}

	// An autoscaler of another workload stays byte for byte.
	other := strings.Replace(scaler, "name: web}}", "name: api}}", 1)
	_, out, _ := command(t, web+"---\n"+other)
	assert.Equal(t, webRollout+"---\n"+other, out)
	_, out, _ = command(t, scaler+"---\n"+service)
	assert.Equal(t, scaler+"---\n"+service, out)

	// So does one in another namespace.
	other = strings.Replace(scaler, "namespace: shop", "namespace: bank", 1)
	_, out, _ = command(t, web+"---\n"+other)
	assert.Equal(t, webRollout+"---\n"+other, out)
}

func TestFiles(t *testing.T) {
	a, b := write(t, "a.yaml", web), write(t, "b.yaml", "---\n"+service)
	code, out, _ := command(t, "---\n"+web, a, b, "-")
	assert.Zero(t, code)
	assert.Equal(t, webRollout+"---\n"+service+"---\n"+webRollout, out)
}

// Two files are two documents, whether or not they were written to follow
// another.
func TestFiles_StaySeparateDocuments(t *testing.T) {
	const one, two = "kind: ConfigMap\nmetadata: {name: one}\n", "kind: ConfigMap\nmetadata: {name: two}\n"
	cases := map[string]struct {
		reason, a, b, want string
	}{
		"NoSeparator":      {"Every key would be there twice.", one, two, one + "---\n" + two},
		"NoNewlineAtEnd":   {"The hyphens would belong to the value.", strings.TrimSuffix(one, "\n"), "---\n" + two, one + "---\n" + two},
		"Neither":          {"Both.", strings.TrimSuffix(one, "\n"), two, one + "---\n" + two},
		"WindowsSeparator": {"It is one.", one, "---\r\n" + two, one + "---\r\n" + two},
		"SeparatorAtEnd":   {"An empty document does no harm.", one + "---\n", two, one + "---\n---\n" + two},
		"EmptyFile":        {"Nothing to part.", one, "", one},
		"EmptyFileFirst":   {"Nothing to part.", "", two, two},
		"CommentInFront":   {"A comment belongs to the document after it.", one, "# two\n" + two, one + "---\n# two\n" + two},
		"Deployments":      {"A converted document is written again.", web, web, webRollout + "---\n" + webRollout},
		"DeploymentSecond": {"After a file without an end.", "kind: Service", web, "kind: Service\n---\n" + webRollout},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, out, errs := command(t, "", write(t, "a.yaml", tc.a), write(t, "b.yaml", tc.b))
			assert.Zero(t, code, errs)
			assert.Equal(t, tc.want, out, tc.reason)
		})
	}
}

func TestPlans(t *testing.T) {
	manifest := write(t, "web.yaml", web)
	list := "kind: List\napiVersion: v1\nitems:\n" + item(liveDeployment) + item(scaler)
	for _, in := range []string{liveDeployment + "---\n" + scaler, list} {
		code, out, errs := command(t, in, "-plan", "-", manifest)
		require.Zero(t, code, errs)
		assert.True(t, strings.HasPrefix(out, "#!/bin/sh\n# Replaces Deployment web by Rollout web in namespace shop.\n"), out)
		assert.Contains(t, out, "kube patch hpa/web")
		assert.NotContains(t, out, "of-argo-cd", "with its mark, Argo CD would delete the Rollout")
	}

	// As the command's comment gets them: the autoscaler has another name, or
	// there is none.
	for hpas, want := range map[string]bool{item(strings.Replace(scaler, "metadata: {name: web,", "metadata: {name: web-hpa,", 1)): true, "  []\n": false} {
		code, out, errs := command(t, liveDeployment+"---\nkind: List\napiVersion: v1\nitems:\n"+hpas+"---\n", "-plan", "-", manifest)
		require.Zero(t, code, errs)
		assert.Equal(t, want, strings.Contains(out, "kube patch hpa/web-hpa"), out)
	}

	// As kubectl get --show-managed-fields prints them.
	managed := strings.Replace(liveDeployment, "uid: 4c1e,", "uid: 4c1e, managedFields: [{manager: argocd-controller, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {'f:spec': {'f:selector': {}}}}],", 1)
	code, out, errs := command(t, managed, "-plan", "-", manifest)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "--field-manager=argocd-controller ")
	assert.Contains(t, errs, "warning: Deployment web: Suspend what applies this workload")
}

func TestPlans_Rollback(t *testing.T) {
	same := write(t, "web.yaml", web)
	healthy := strings.Replace(webRollout, "  namespace: shop\n", "  namespace: shop\n  uid: 4c1e\n  generation: 2\n", 1) +
		"status: {observedGeneration: \"2\", phase: Healthy, currentPodHash: a, stableRS: a, replicas: 5, updatedReplicas: 5}\n"
	code, out, errs := command(t, healthy, "-rollback", "-", same)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "kube delete rollout/web")
	unseen := strings.Replace(healthy, "generation: 2", "generation: 3", 1)
	code, _, errs = command(t, unseen, "-rollback", "-", same)
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "the controller has seen generation 2 of 3")

	older := write(t, "older.yaml", strings.Replace(web, "web:1", "web:0", 1))
	code, _, errs = command(t, healthy, "-rollback", "-", older)
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "spec.template.spec.containers[0].image")
	code, out, errs = command(t, unseen, "-rollback", "-allow-template-change", "-allow-two-versions", "-context", "prod", "-field-manager", "ci", "-", older)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "kubectl --context=prod --namespace=shop ")
	assert.Contains(t, out, "--field-manager=ci ")
}

func TestRun_FailsIfItCannotWrite(t *testing.T) {
	var stderr bytes.Buffer
	code := run(nil, strings.NewReader(web), full{}, &stderr)
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr.String(), "disk full")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// FuzzStream: a stream without Deployments is passed through byte for byte, or
// refused whole; output that is read again gives the same output.
func FuzzStream(f *testing.F) {
	for _, s := range []string{service, "---\n" + service + "...\n# x\n---", "%YAML 1.2\n---\na: |\n ---\n b\n", "--- x\n---\r\n", "a: 1\n---a\n", web + "---\n" + web, webRollout, "a: &x [*x]\n", "\xff\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		code, out, errs := command(t, s)
		if code == 0 && !strings.Contains(out, "kind: Rollout") {
			assert.Equal(t, s, out)
		}
		assert.Equal(t, code == 1, out == "" && errs != "")
		if code == 0 {
			code, again, errs := command(t, out)
			assert.Zero(t, code, errs)
			assert.Equal(t, out, again)
		}
	})
}

func item(doc string) string {
	return "- " + strings.ReplaceAll(strings.TrimSpace(doc), "\n", "\n  ") + "\n"
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}
