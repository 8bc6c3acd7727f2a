// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

// The kubectl of cluster is a script of bash.

package plan_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/rollout/plan"
)

// world is a cluster as far as a plan sees it.
type world struct {
	Objects map[string]map[string]any // by kind and name
	Sets    []set
	Least   int // pods
}

// set is a ReplicaSet.
type set struct {
	Name, Owner, Image, Proxy string // the proxy is a second container
	Replicas                  int
	Labels                    map[string]string
}

func clone(t *testing.T, w world) world {
	t.Helper()
	data, err := json.Marshal(w)
	require.NoError(t, err)
	var out world
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

// workloads are what is left in the end: kind, replicas, image, autoscaler.
func workloads(w world) map[string]string {
	out := map[string]string{}
	for key, o := range w.Objects {
		spec := o["spec"].(map[string]any)
		out[key] = jsonText([]any{spec["replicas"], spec["template"], spec["workloadRef"], spec["scaleTargetRef"]})
	}
	for _, s := range w.Sets {
		if s.Replicas > 0 {
			out["pods of "+s.Owner+" "+s.Image] = strconv.Itoa(s.Replicas)
		}
	}
	return out
}

// deployed is a cluster with the Deployment, and its autoscaler.
func deployed(t *testing.T, scaled bool) world {
	t.Helper()
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(running())
	require.NoError(t, err)
	w := world{Objects: map[string]map[string]any{"deployment/web": o}, Least: 5}
	w.Sets = []set{{Name: "web-1", Owner: "u", Image: "web:1", Replicas: 5, Labels: map[string]string{"app": "web"}}}
	return clone(t, scaledBy(t, w, "Deployment", scaled))
}

// rolledOut is a cluster with the Rollout. If it refers to a Deployment, that
// has no pods.
func rolledOut(t *testing.T, u *unstructured.Unstructured, scaled bool) world {
	t.Helper()
	w := world{Objects: map[string]map[string]any{"rollout/web": u.Object}, Least: 5}
	w.Sets = []set{{Name: "web-2", Owner: "u", Image: "web:1", Replicas: 5, Labels: map[string]string{"app": "web", "rollouts-pod-template-hash": "a"}}}
	if _, refers, _ := unstructured.NestedMap(u.Object, "spec", "workloadRef"); refers {
		d := running()
		d.UID, d.Spec.Replicas = "d", new(int32)
		o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
		require.NoError(t, err)
		w.Objects["deployment/web"] = o
	}
	return clone(t, scaledBy(t, w, "Rollout", scaled))
}

func scaledBy(t *testing.T, w world, kind string, scaled bool) world {
	t.Helper()
	if scaled {
		h := scaler("web", kind, "web")
		o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&h)
		require.NoError(t, err)
		w.Objects["hpa/web"] = o
	}
	return w
}

// cluster is where scripts run. Their kubectl is testdata/bin/kubectl, which
// sends its arguments to the test. The test does what the server and the
// controllers do about a command, as internal/e2e/rollout sees the real ones do
// it. A kubectl that the test writes would be busy while another test forks,
// and the shell would take the next one in PATH.
type cluster struct {
	*testing.T
	dir  string
	port int
	mu   sync.Mutex
	now  world

	log      []string // the requests
	failing  string   // the request that fails once
	stubborn bool     // a tool undoes each change of the autoscaler
}

func newCluster(t *testing.T, w world) *cluster {
	t.Helper()
	c := &cluster{T: t, dir: t.TempDir()}
	c.set(w)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.port = listener.Addr().(*net.TCPAddr).Port
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { c.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); all.Wait() })
	return c
}

// serve answers one kubectl: an exit code, and what it prints.
func (c *cluster) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	r := bufio.NewReader(conn)
	next := func() string {
		word, _ := r.ReadString(0)
		return strings.TrimSuffix(word, "\x00")
	}
	n, _ := strconv.Atoi(next())
	args := make([]string, n)
	for i := range args {
		args[i] = next()
	}
	var out bytes.Buffer
	code := 0
	if err := c.command(args, next(), &out); err != nil {
		code = 1
		fmt.Fprintln(&out, "error:", err)
	}
	fmt.Fprintf(conn, "%d\x00%s", code, out.String())
}

func (c *cluster) set(w world) {
	c.Helper()
	w = clone(c.T, w)
	w.settle()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = w
}

func (c *cluster) world() world {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	return clone(c.T, c.now)
}

func (c *cluster) env() []string {
	c.Helper()
	bin, err := filepath.Abs("testdata/bin")
	require.NoError(c, err)
	return []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "KUBECONFIG=" + os.DevNull, fmt.Sprintf("TEST_PORT=%d", c.port)}
}

func (c *cluster) try(script string) (string, error) {
	c.Helper()
	sh := exec.CommandContext(c.Context(), "sh", "-c", "sleep() { :; }\n"+script)
	sh.Env, sh.Dir = c.env(), c.dir
	out, err := sh.CombinedOutput()
	return string(out), err
}

func (c *cluster) run(script string) {
	c.Helper()
	out, err := c.try(script)
	require.NoError(c, err, "%s\n%s", script, out)
}

func (c *cluster) runAll(p plan.Plan) {
	c.Helper()
	c.run(p.String())
}

func (c *cluster) command(args []string, input string, out io.Writer) error {
	flags, words := map[string]string{}, []string{}
	for i := 0; i < len(args); i++ {
		name, value, _ := strings.Cut(args[i], "=")
		switch {
		case slices.Contains([]string{"-n", "-o", "-l", "-f", "-p"}, args[i]):
			flags[args[i]] = args[i+1]
			i++
		case strings.HasPrefix(name, "-"):
			flags[name] = value
		default:
			words = append(words, args[i])
		}
	}
	if file := flags["-f"]; file != "" && file != "-" {
		data, err := os.ReadFile(filepath.Join(c.dir, file))
		if err != nil {
			return err
		}
		input = string(data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails(strings.Join(args, " ")) {
		return errors.New("the server does not answer")
	}
	if c.stubborn && len(words) > 1 && words[0] == "patch" && words[1] == "hpa" {
		return nil
	}
	if err := c.now.do(words, flags, input, out); err != nil || words[0] == "get" {
		return err
	}
	c.now.settle()
	return nil
}

func (w *world) do(words []string, flags map[string]string, input string, out io.Writer) error {
	key := strings.Join(words[1:min(len(words), 3)], "/")
	o := w.Objects[key]
	_, ignore := flags["--ignore-not-found"]
	switch command := words[0]; {
	case command == "get" && words[1] == "replicaset":
		return w.list(flags["-l"], flags["-o"], out)
	case command == "apply":
		return w.apply(input, flags["--dry-run"] != "")
	case command == "label":
		for i := range w.Sets {
			if name, value, _ := strings.Cut(words[3], "="); w.Sets[i].Name == words[2] {
				w.Sets[i].Labels[name] = value
			}
		}
	case command == "wait":
		if w.Objects[words[1]] != nil {
			return errors.New("timed out")
		}
	case o == nil && ignore, command == "rollout":
	case o == nil:
		return fmt.Errorf("%s not found", key)
	case command == "get" && flags["-o"] == "name":
		fmt.Fprintln(out, key)
	case command == "get":
		return show(out, strings.TrimPrefix(flags["-o"], "jsonpath="), o)
	case command == "delete":
		delete(w.Objects, key)
		uid := o["metadata"].(map[string]any)["uid"]
		for i := range w.Sets {
			if w.Sets[i].Owner == uid {
				if w.Sets[i].Owner = ""; flags["--cascade"] != "orphan" {
					w.Sets[i].Replicas = 0
				}
			}
		}
	case command == "scale":
		n, err := strconv.Atoi(flags["--replicas"])
		bump(o, "replicas", n)
		return err
	case command == "patch":
		var patch map[string]any
		err := json.Unmarshal([]byte(flags["-p"]), &patch)
		for name, value := range patch["spec"].(map[string]any) {
			maps.Copy(o["spec"].(map[string]any)[name].(map[string]any), value.(map[string]any))
			bump(o, name, o["spec"].(map[string]any)[name])
		}
		return err
	default:
		return fmt.Errorf("unknown command %q", words)
	}
	return nil
}

func (w *world) list(selector, output string, out io.Writer) error {
	s, err := labels.Parse(selector)
	items := []any{}
	for _, r := range w.Sets {
		if err != nil || !s.Matches(labels.Set(r.Labels)) {
			continue
		}
		meta := map[string]any{"name": r.Name}
		if r.Owner != "" {
			meta["ownerReferences"] = []any{map[string]any{"uid": r.Owner, "name": "x"}}
		}
		items = append(items, map[string]any{"metadata": meta, "spec": map[string]any{
			"replicas": r.Replicas, "template": map[string]any{"spec": map[string]any{"containers": r.containers()}},
		}})
	}
	return errors.Join(err, show(out, strings.TrimPrefix(output, "jsonpath="), map[string]any{"items": items}))
}

// apply conflicts with an autoscaler that has changed the replicas, as all but
// an apply of the same number does.
func (w *world) apply(input string, dry bool) error {
	var o map[string]any
	if err := json.Unmarshal([]byte(input), &o); err != nil {
		return err
	}
	key := strings.ToLower(o["kind"].(string)) + "/" + o["metadata"].(map[string]any)["name"].(string)
	if was := w.Objects[key]; was != nil {
		if jsonText(was["spec"].(map[string]any)["replicas"]) != jsonText(o["spec"].(map[string]any)["replicas"]) {
			return errors.New("Apply failed with 1 conflict: use --force-conflicts: .spec.replicas")
		}
		return nil
	}
	if !dry {
		meta := o["metadata"].(map[string]any)
		meta["uid"], meta["generation"] = "new-"+strings.ToLower(o["kind"].(string)), 1
		w.Objects[key] = o
	}
	return nil
}

// settle is what the controllers do. A Rollout adopts only ReplicaSets with its
// label. Each has all its pods in one set of its image, but for a canary that
// waits.
func (w *world) settle() {
	for _, key := range []string{"deployment/web", "rollout/web"} {
		o := w.Objects[key]
		if o == nil || halfway(o) {
			continue
		}
		spec := o["spec"].(map[string]any)
		n := 1
		if spec["replicas"] != nil {
			n, _ = strconv.Atoi(jsonText(spec["replicas"]))
		}
		template, _ := spec["template"].(map[string]any)
		if template == nil {
			template, _ = w.Objects["deployment/web"]["spec"].(map[string]any)["template"].(map[string]any)
		}
		meta := o["metadata"].(map[string]any)
		uid, _ := meta["uid"].(string)
		image := template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"].(string)
		w.own(uid, key == "rollout/web", image, n)
		stable := "a"
		if was, ok := o["status"].(map[string]any); ok && was["stableRS"] != nil {
			stable = was["stableRS"].(string)
		}
		o["status"] = map[string]any{
			"availableReplicas": n, "phase": "Healthy", "observedGeneration": jsonText(meta["generation"]), "stableRS": stable, "currentPodHash": stable,
		}
	}
	pods := 0
	for _, s := range w.Sets {
		pods += s.Replicas
	}
	w.Least = min(w.Least, pods)
}

func (w *world) own(uid string, rollout bool, image string, n int) {
	found := false
	for i := range w.Sets {
		s := &w.Sets[i]
		labelled := s.Labels["rollouts-pod-template-hash"] != ""
		if s.Owner == "" && (labelled || !rollout) {
			s.Owner = uid
		}
		if s.Owner != uid {
			continue
		}
		s.Replicas = 0
		if !found && s.Image == image {
			found, s.Replicas = true, n
		}
	}
	if !found {
		w.Sets = append(w.Sets, set{Name: "web-" + uid, Owner: uid, Image: image, Replicas: n, Labels: map[string]string{"app": "web", "rollouts-pod-template-hash": "b"}})
	}
}
