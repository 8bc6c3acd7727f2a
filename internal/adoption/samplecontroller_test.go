// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package adoption_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// patience is how long the control plane and the controller may take for what
// takes them a second.
const patience = 2 * time.Minute

// TestSampleController_PassesItsTestsAndRuns inserts the packages into
// k8s.io/sample-controller, generates its code with its own script, runs its
// unit tests and then the program on the local control plane.
func TestSampleController_PassesItsTestsAndRuns(t *testing.T) {
	p := sampleController(t)
	p.run("go", "test", "-v", "-count=1", "-vet=off", ".")
	program := filepath.Join(p.dir, "bin", "sample-controller")
	p.run("go", "build", "-o", program, ".")

	plane, err := controlplane.Start(p.deadline(), controlplane.Options{Log: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			plane.Keep()
		}
		assert.NoError(t, plane.Stop())
	})
	require.NoError(t, plane.InstallCRDs(p.deadline(), filepath.Join(p.dir, "artifacts/examples/crd-status-subresource.yaml")))
	running, log := start(t, program, "-kubeconfig="+plane.Kubeconfig())
	kubectl := func(args ...string) string {
		return p.run(plane.Kubectl(), append([]string{"--kubeconfig=" + plane.Kubeconfig(), "--namespace=default"}, args...)...)
	}

	kubectl("apply", "-f", "artifacts/examples/example-foo.yaml")
	kubectl("wait", "--for=create", "deployment/example-foo", "--timeout="+patience.String())
	kubectl("wait", "--for=jsonpath={.status.observedGeneration}=1", "foo/example-foo", "--timeout="+patience.String())
	// No controller of Deployments runs. This is what it would write.
	kubectl("patch", "deployment/example-foo", "--subresource=status", "--type=merge", "--patch",
		`{"status":{"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}`)
	kubectl("wait", "--for=jsonpath={.status.availableReplicas}=1", "foo/example-foo", "--timeout="+patience.String())
	kubectl("wait", "--for=jsonpath={.status.updatedAt}", "foo/example-foo", "--timeout="+patience.String())

	const fields = `jsonpath={range .items[*]}{.reportingController} {.regarding.kind}/{.regarding.name} {.type} {.reason}{"\n"}{end}`
	began, list := time.Now(), ""
	for !strings.Contains(list, "sample-controller Foo/example-foo Normal Synced\n") {
		require.Less(t, time.Since(began), patience, "no Event about the Foo:\n%s", list)
		list = kubectl("get", "events.v1.events.k8s.io", "--output="+fields)
	}

	page := scrape(t, log)
	for _, series := range []string{
		`controller_reconciles_total{controller="sample-controller",result="success"}`,
		`controller_status_writes_total{controller="sample-controller",result="written"}`,
		`controller_queue_adds_total{controller="sample-controller"}`,
		`controller_client_request_duration_seconds_count{code="2xx",group="samplecontroller.k8s.io",resource="foos/status",verb="patch"}`,
	} {
		assert.Regexp(t, regexp.QuoteMeta(series)+" [1-9]", page)
	}
	// It ends as Kubernetes ends it, without an error.
	require.NoError(t, running.Process.Signal(syscall.SIGTERM))
	require.NoError(t, running.Wait())
}

// sampleController is a copy of the project with the packages in it, ready to
// compile.
func sampleController(t *testing.T) project {
	t.Helper()
	p := newProject(t, "sample-controller")
	require.NoError(t, os.CopyFS(p.dir, os.DirFS(moduleDir(t, ".", "k8s.io/sample-controller"))))
	p.insert("sample-controller.patch")
	p.adopt()

	// The script of the project needs the folder of code-generator. It compares
	// its report on names of fields with a file, or writes that file.
	p.env = append(p.env,
		"CODEGEN_PKG="+moduleDir(t, p.dir, "k8s.io/code-generator"), "GOBIN="+t.TempDir(),
		"API_KNOWN_VIOLATIONS_DIR="+t.TempDir(), "UPDATE_API_KNOWN_VIOLATIONS=true")
	p.run("bash", "hack/update-codegen.sh")
	return p
}

// start runs the program until the end of the test, with its output in a file.
func start(t *testing.T, program string, args ...string) (cmd *exec.Cmd, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	file, err := os.Create(log)
	require.NoError(t, err)
	cmd = exec.CommandContext(t.Context(), program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(), file, file
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = file.Close()
		if t.Failed() {
			t.Logf("the log of %s:\n%s", filepath.Base(program), read(t, log))
		}
	})
	return cmd, log
}

func read(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(body)
}

// scrape reads the address that the program has logged.
func scrape(t *testing.T, log string) string {
	t.Helper()
	url := regexp.MustCompile(`url="(http://127\.0\.0\.1:\d+/metrics)"`).FindStringSubmatch(read(t, log))
	require.NotNil(t, url, "the log names the address")
	response, err := http.Get(url[1])
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	return string(body)
}
