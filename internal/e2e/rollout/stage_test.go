// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/rollout"
)

const manager = "e2e"

// stage is a namespace with the Service web.
type stage struct {
	*testing.T
	namespace string
	kube      *kubernetes.Clientset
	rollouts  dynamic.ResourceInterface
	planner   string // see grant
}

func newStage(t *testing.T) *stage {
	t.Helper()
	installed(t)
	s := clients(t, strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "=", "-").Replace(t.Name())))
	s.sh("kubectl create namespace " + s.namespace)
	s.kubectl("create service clusterip web --tcp=80") // of the pods with app=web
	s.grant()
	return s
}

func clients(t *testing.T, namespace string) *stage {
	t.Helper()
	kube, err := kubernetes.NewForConfig(plane.Config())
	require.NoError(t, err)
	dyn, err := dynamic.NewForConfig(plane.Config())
	require.NoError(t, err)
	namespace = strings.Trim(namespace[:min(len(namespace), 60)], "-")
	gvr := rollout.GVK().GroupVersion().WithResource("rollouts")
	return &stage{T: t, namespace: namespace, kube: kube, rollouts: dyn.Resource(gvr).Namespace(namespace)}
}

// web is a Deployment of five pods.
func web(image string) *appsv1.Deployment {
	d := new(appsv1.Deployment)
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(deployment, "IMAGE", image)), d); err != nil {
		panic(err)
	}
	return d
}

//go:embed testdata/web.yaml
var deployment string

// slow makes the pods of d take as long to get ready as the pods of a small
// real image.
func slow(d *appsv1.Deployment) *appsv1.Deployment {
	d.Spec.Template.Annotations = map[string]string{controlplane.ReadyAfterAnnotation: "4s"}
	return d
}

// converted is the canary of web.
func converted(t *testing.T, image string, o rollout.Options) *rollout.Rollout {
	t.Helper()
	r, errs := rollout.Convert(web(image), o)
	require.Empty(t, errs)
	return r
}

// apply sends r by a strict server-side apply, as the documentation says.
func (s *stage) apply(r *rollout.Rollout) *unstructured.Unstructured {
	s.Helper()
	data, err := json.Marshal(r)
	require.NoError(s, err)
	u, err := s.rollouts.Patch(s.Context(), r.Name, types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: manager, FieldValidation: "Strict"})
	require.NoError(s, err)
	return u
}

// deploy creates the Deployment and waits until all its pods are available.
func (s *stage) deploy(d *appsv1.Deployment) {
	s.Helper()
	s.kubectl("create --field-manager=rollout.test -f " + s.file(d))
	s.kubectl("rollout status deployment " + d.Name + " --timeout=2m")
}

func (s *stage) get(name string) *rollout.Rollout {
	s.Helper()
	u, err := s.rollouts.Get(s.Context(), name, metav1.GetOptions{})
	require.NoError(s, err)
	return typed(s, u)
}

// typed is a Rollout as a typed client reads it.
func typed(t require.TestingT, u *unstructured.Unstructured) *rollout.Rollout {
	r := new(rollout.Rollout)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, r))
	return r
}

// reaches waits until the Rollout is in the state, and returns it.
func (s *stage) reaches(name string, want rollout.Phase) *unstructured.Unstructured {
	s.Helper()
	var u *unstructured.Unstructured
	s.eventually(name+" is "+string(want), func(c *assert.CollectT) {
		generation := int64(0) // of the Deployment that a workloadRef names
		d, err := s.kube.AppsV1().Deployments(s.namespace).Get(s.Context(), name, metav1.GetOptions{})
		if err == nil {
			generation = d.Generation
		}
		u, err = s.rollouts.Get(s.Context(), name, metav1.GetOptions{})
		require.NoError(c, err)
		got, message := rollout.PhaseOf(typed(c, u), generation)
		require.Equal(c, want, got, message)
	})
	return u
}

// images counts the pods that are not on their way out by the image that they
// run.
func (s *stage) images() map[string]int {
	s.Helper()
	pods, err := s.kube.CoreV1().Pods(s.namespace).List(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	n := map[string]int{}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			n[pods.Items[i].Spec.Containers[0].Image]++
		}
	}
	return n
}

// runs waits until just these images run, as many of each.
func (s *stage) runs(want map[string]int) {
	s.Helper()
	s.eventually("the pods run", func(c *assert.CollectT) { require.Equal(c, want, s.images()) })
}

func (s *stage) eventually(what string, check func(c *assert.CollectT)) {
	s.Helper()
	require.EventuallyWithT(s, check, 2*time.Minute, 100*time.Millisecond, what)
}

// plan is the runbook that the command prints for the live objects and a
// manifest, as for kubectl get -o yaml | rollout -plan - manifest.yaml.
func (s *stage) plan(kinds string, manifest *appsv1.Deployment, args ...string) string {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), command, append(args, "-", s.file(manifest))...)
	cmd.Stdin = strings.NewReader(s.kubectl("get " + kinds + " -o yaml --show-managed-fields"))
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	require.NoError(s, cmd.Run(), problems.String())
	return out.String()
}

// kubectl runs one command in the namespace.
func (s *stage) kubectl(command string) string {
	s.Helper()
	return s.sh("kubectl -n " + s.namespace + " " + command)
}

// sh runs a script as a person at a terminal does whose context is the cluster,
// with all rights there.
func (s *stage) sh(script string) string {
	s.Helper()
	return s.shAs(plane.Kubeconfig(), script)
}

func (s *stage) shAs(kubeconfig, script string) string {
	s.Helper()
	out, err := s.try(kubeconfig, script)
	require.NoError(s, err, "%s\n%s", script, out)
	return out
}

// try returns the output of a script, and if it fails its errors too.
func (s *stage) try(kubeconfig, script string) (string, error) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), "sh", "-eu")
	cmd.Dir = s.TempDir()
	cmd.Env = []string{"PATH=" + filepath.Dir(plane.Kubectl()) + ":" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "KUBECONFIG=" + kubeconfig}
	cmd.Stdin = strings.NewReader(script)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String() + "\n" + problems.String(), err
	}
	return out.String(), nil
}

// file writes an object where the command reads it.
func (s *stage) file(obj any) string {
	s.Helper()
	data, err := json.Marshal(obj)
	require.NoError(s, err)
	path := filepath.Join(s.TempDir(), "object.json")
	require.NoError(s, os.WriteFile(path, data, 0o600))
	return path
}
