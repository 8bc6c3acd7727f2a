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

	"sigs.k8s.io/yaml"
)

// cluster is where scripts run. Their kubectl is testdata/bin/kubectl, which
// sends its arguments to the test. The test does what the server and the
// controllers do about a command, as internal/e2e/rollout sees the real ones do
// it. A kubectl that the test writes would be busy while another test forks,
// and the shell would take the next one in PATH.
type cluster struct {
	*testing.T
	port int
	mu   sync.Mutex
	now  world

	shell    []string // that runs scripts; nil is sh
	log      []string // the requests
	failing  string   // the request that fails once
	stubborn bool     // a tool undoes each change of the autoscaler
	busy     bool     // an autoscaler scales its target at each request
	absent   bool     // no controller runs
}

func newCluster(t *testing.T, w world) *cluster {
	t.Helper()
	c := &cluster{T: t}
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
	if !c.absent {
		reconcileAll(&w)
	}
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

// try runs a script. Its clock goes forward by a minute a second.
func (c *cluster) try(script string) (string, error) {
	c.Helper()
	const clock = "now=1000\ndate() { echo $now; }\nsleep() { now=$((now + 60)); }\n"
	shell := c.shell
	if shell == nil {
		shell = []string{"sh"}
	}
	sh := exec.CommandContext(c.Context(), shell[0], append(shell[1:], "-c", clock+script)...)
	sh.Env = c.env()
	sh.Dir = c.TempDir()
	out, err := sh.CombinedOutput()
	return string(out), err
}

func (c *cluster) run(script string) {
	c.Helper()
	out, err := c.try(script)
	require.NoError(c, err, "%s\n%s", script, out)
}

func (c *cluster) command(args []string, input string, out io.Writer) error {
	flags := map[string]string{}
	var words []string
	for i := 0; i < len(args); i++ {
		name, value, _ := strings.Cut(args[i], "=")
		switch {
		case slices.Contains([]string{"-o", "-f", "-p"}, args[i]):
			flags[args[i]] = args[i+1]
			i++
		case strings.HasPrefix(name, "-"):
			flags[name] = value
		default:
			words = append(words, args[i])
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails(strings.Join(args, " ")) {
		return errors.New("the server does not answer")
	}
	if c.stubborn && words[0] == "patch" && words[1] == "hpa/web" {
		return nil
	}
	if c.busy {
		c.now.scale(9 + len(c.log)%2)
	}
	err := do(&c.now, words, flags, input, out)
	if err == nil && (c.busy || words[0] != "get") && !c.absent {
		reconcileAll(&c.now)
	}
	return err
}

// fail has the next of these requests fail.
func (c *cluster) fail(request string) {
	c.locked(func() {
		c.failing = request
		c.log = nil
	})
}

func (c *cluster) locked(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// fails is called with the lock held.
func (c *cluster) fails(request string) bool {
	c.log = append(c.log, request)
	if request != c.failing {
		return false
	}
	c.failing = ""
	return true
}

func do(w *world, words []string, flags map[string]string, input string, out io.Writer) error {
	if words[0] == "apply" {
		return create(w, input, flags["--field-manager"])
	}
	if words[1] == "hpa" {
		return show(out, strings.TrimPrefix(flags["-o"], "jsonpath="), map[string]any{"items": w.scalers()})
	}
	o := w.Objects[words[1]]
	_, ignore := flags["--ignore-not-found"]
	switch {
	case o == nil && ignore:
		return nil
	case o == nil:
		return fmt.Errorf("%s not found", words[1])
	case words[0] == "get":
		return show(out, strings.TrimPrefix(flags["-o"], "jsonpath="), o)
	case words[0] == "delete":
		delete(w.Objects, words[1])
		return nil
	case words[0] == "patch":
		if flags["--type"] == "merge" {
			return scale(o, flags["-p"])
		}
		return patch(o, flags["-p"])
	}
	return fmt.Errorf("unknown command %q", words)
}

// create is a server-side apply. The plan applies to none that exists.
func create(w *world, input, manager string) error {
	var o map[string]any
	if err := yaml.Unmarshal([]byte(input), &o); err != nil {
		return err
	}
	meta := o["metadata"].(map[string]any)
	kind := strings.ToLower(o["kind"].(string))
	key := kind + "/" + meta["name"].(string)
	if w.Objects[key] != nil {
		return errors.New("Apply failed with 1 conflict: use --force-conflicts: .spec.replicas")
	}
	meta["uid"] = "new-" + kind
	meta["generation"] = 1
	meta["managedFields"] = []any{map[string]any{
		"manager": manager, "operation": "Apply",
		"fieldsV1": map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}, "f:selector": map[string]any{}}},
	}}
	w.Objects[key] = o
	return nil
}

// scale is a merge patch of the replicas.
func scale(o map[string]any, body string) error {
	var to struct{ Spec struct{ Replicas int } }
	err := json.Unmarshal([]byte(body), &to)
	bump(o, "replicas", to.Spec.Replicas)
	return err
}

// patch is a JSON Patch of the operations that a plan sends.
func patch(o map[string]any, body string) error {
	var operations []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal([]byte(body), &operations); err != nil {
		return err
	}
	for _, op := range operations {
		path := strings.Split(strings.TrimPrefix(op.Path, "/"), "/")
		if path[0] == "spec" {
			ref := o["spec"].(map[string]any)[path[1]].(map[string]any)
			ref[path[2]] = op.Value
			continue
		}
		entry := o["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any)
		if op.Op == "test" && entry["manager"] != op.Value {
			return fmt.Errorf("testing value %s failed", op.Path)
		}
		if op.Op == "remove" {
			unstructured.RemoveNestedField(entry, path[3:]...)
		}
	}
	return nil
}
