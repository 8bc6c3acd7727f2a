// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/mixin"
)

const runbooks = "examples/operate/runbooks/"

// alert is a rule of metrics/mixin.
type alert struct {
	Alert, Expr         string
	For                 string
	Labels, Annotations map[string]string
}

// alerts returns the rules with links to a version of the pages.
func alerts(t *testing.T, version string) []alert {
	t.Helper()
	body, err := mixin.Alerts("agentrun", "agents", version)
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []alert } }
	require.NoError(t, yaml.Unmarshal(body, &file))
	require.Len(t, file.Groups, 1)
	return file.Groups[0].Rules
}

// TestRunbooksOfTheAlerts: each alert links to its page, and each page belongs
// to an alert. The page queries the metrics of its alert.
//
//req:shows O4
func TestRunbooksOfTheAlerts(t *testing.T) {
	base := "https://" + module + "/blob/v9.8.7/" + runbooks
	table := "| alert | severity | for | meaning |\n|---|---|---|---|\n"
	names := map[string]bool{"README": true, "reasons": true, "switches": true}
	for _, a := range alerts(t, "v9.8.7") {
		require.Equal(t, base+a.Alert+".md", a.Annotations["runbook_url"], "the alert %s: name the page after the alert", a.Alert)
		page := runbook(t, a.Alert+".md", a.Alert)
		for _, metric := range regexp.MustCompile(`controller_\w+|\bup\b`).FindAllString(a.Expr, -1) {
			if metric != "controller_" {
				assert.Contains(t, page, strings.TrimSuffix(metric, "_bucket"), "%s%s.md does not query the metric of its alert; add it to Diagnosis", runbooks, a.Alert)
			}
		}
		names[a.Alert] = true
		wait := strings.Replace(a.For, "m", " min", 1)
		table += fmt.Sprintf("| [%s](%s.md) | %s | %s | %s |\n", a.Alert, a.Alert, a.Labels["severity"], wait, withoutActions(a.Annotations["summary"]))
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(names)), pagesIn(t, runbooks), "each alert has one page in %s; write or delete a page", runbooks)
	generated(t, runbooks+"README.md", "-update -->\n", table)
}

// TestRunbookOfTheReasons: each reason of package events has a section, and each
// section belongs to a reason.
//
//req:shows O4
func TestRunbookOfTheReasons(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "events", "reasons.go"), nil, 0)
	require.NoError(t, err)
	var reasons []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		reasons = append(reasons, reason)
		return true
	})
	require.NotEmpty(t, reasons, "events/reasons.go has no reason that this test finds")
	var headings []string
	for _, section := range strings.Split(read(t, runbooks+"reasons.md"), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		headings = append(headings, title)
		for _, word := range []string{"**Impact**", "**Diagnosis**", "**Mitigation**"} {
			assert.Contains(t, text, "\n- "+word, "%sreasons.md: the section %s has no %s; write it", runbooks, title, word)
		}
	}
	assert.ElementsMatch(t, reasons, headings, "%sreasons.md: write one section for each reason", runbooks)
}

// TestRunbookOfLostEvents: the page lists the causes of package events as its
// code describes them, and says what to do about each.
func TestRunbookOfLostEvents(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "events", "stats.go"), nil, parser.ParseComments)
	require.NoError(t, err)
	const name = runbooks + "ControllerEventsDropped.md"
	_, mitigation, found := strings.Cut(read(t, name), "\n## Mitigation\n")
	require.True(t, found)
	table := "\n| cause | lost because |\n|---|---|\n"
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Lost") {
			return true
		}
		cause, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		_, because, _ := strings.Cut(strings.Join(strings.Fields(spec.Doc.Text()), " "), ": ")
		table += fmt.Sprintf("| `%s` | %s |\n", cause, because)
		assert.Contains(t, mitigation, "`"+cause+"`", "%s: say in Mitigation what to do", name)
		return true
	})
	assert.Greater(t, strings.Count(table, "\n"), 5, "events/stats.go has causes that this test finds")
	generated(t, name, "<!-- causes -->\n", table+"\n")
}

// TestRunbookOfTheSwitches: every flag and variable of the example, and every
// variable of a package's FromEnv, has a section; and every name in a heading
// is one of these, or an option.
//
//req:shows A3 O4
func TestRunbookOfTheSwitches(t *testing.T) {
	known := settings(t)
	require.Greater(t, len(known), 20, "this test no longer finds the settings; fix its patterns")

	headings := map[string]bool{}
	for _, section := range regexp.MustCompile(`(?m)^### `).Split(read(t, runbooks+"switches.md"), -1)[1:] {
		title, text, _ := strings.Cut(section, "\n")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(title, -1) {
			headings[m[1]] = true
			assert.True(t, known[m[1]] || strings.Contains(m[1], ".Options."), "%sswitches.md: %s is not a setting; correct the heading", runbooks, m[1])
		}
		for _, word := range []string{"**Enable**", "**Disable**", "**Rollback**", "**Expected failures**"} {
			assert.Contains(t, text, word, "%sswitches.md: the section %s has no %s; write it", runbooks, title, word)
		}
	}
	for name := range known {
		assert.True(t, headings[name], "examples/operate/runbooks/switches.md has no section for %s: say how to enable, disable and roll it back, and its expected failures", name)
	}
}

// settings returns the flags and variables of the example and of the packages.
func settings(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{"--kubeconfig": true, "KUBECONFIG": true} // controller-runtime's
	variable := regexp.MustCompile(`"((?:JANGAR|AGENTS)_[A-Z_]+|POD_NAME)"`)
	for name, body := range tracked(t, "events/*.go", "jobgc/*.go", "rollout/*.go") {
		if !strings.HasSuffix(name, "_test.go") {
			for _, m := range variable.FindAllSubmatch(body, -1) {
				known[string(m[1])] = true
			}
		}
	}
	for _, body := range tracked(t, "examples/agentrun/*.go") {
		for _, m := range regexp.MustCompile(`flag\.\w+Var\(&[\w.]+, "([\w-]+)"`).FindAllSubmatch(body, -1) {
			known["--"+string(m[1])] = true
		}
		for _, m := range regexp.MustCompile(`lookup\("([A-Z_]+)"\)`).FindAllSubmatch(body, -1) {
			known[string(m[1])] = true
		}
	}
	return known
}

// TestRunbooksNameWhatExists: every metric is in the table of instruments of
// package metrics, and README sets every variable of a command.
//
//req:shows O4
func TestRunbooksNameWhatExists(t *testing.T) {
	metrics := metricNames(t)
	readme := read(t, runbooks+"README.md")
	for name, body := range tracked(t, "examples/operate/runbooks/*.md", "examples/operate/metrics.md") {
		for _, m := range regexp.MustCompile(`\bcontroller_[a-z_]+`).FindAllString(string(body), -1) {
			several := strings.HasSuffix(m, "_") // the common beginning of their names
			assert.True(t, several || metrics[m], "%s names %s, which is not a metric; use a name of examples/operate/metrics.md", name, m)
		}
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(body), -1) {
			for _, v := range regexp.MustCompile(`\$([A-Z_]+)`).FindAllStringSubmatch(block[1], -1) {
				assert.Contains(t, readme, "export "+v[1]+"=", "%s uses %s; export it in %sREADME.md", name, v[0], runbooks)
			}
		}
	}
}

// metricNames returns the names that Prometheus gives to the instruments in the
// comment of package metrics.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	metrics := map[string]bool{}
	rows := regexp.MustCompile(`(?m)^//\t(controller\.\S+) +(\w+) +(s\b)?`).FindAllStringSubmatch(read(t, "metrics/doc.go"), -1)
	require.Greater(t, len(rows), 20, "this test no longer finds the table in metrics/doc.go; fix its pattern")
	for _, row := range rows {
		name := strings.ReplaceAll(row[1], ".", "_")
		if row[3] == "s" {
			name += "_seconds"
		}
		switch row[2] {
		case "counter":
			metrics[name+"_total"] = true
		case "histogram":
			for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
				metrics[name+suffix] = true
			}
		default:
			metrics[name] = true
		}
	}
	return metrics
}

// TestRunbooks_KeepInstallationsApart: each query of a runbook groups by the
// cluster and by what names an installation.
func TestRunbooks_KeepInstallationsApart(t *testing.T) {
	asked := 0
	for name, body := range tracked(t, "examples/operate/runbooks/*.md") {
		for _, block := range regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(string(body), -1) {
			asked++
			for _, clause := range regexp.MustCompile(`\b(?:by|on) \([^)]*\)`).FindAllString(block[1], -1) {
				assert.Regexp(t, `\(cluster, namespace, job\b`, clause, "%s: %s", name, block[1])
			}
		}
	}
	assert.Greater(t, asked, 20, "this test no longer finds the queries; fix its pattern")
}

// runbook returns a page. It checks the title and that every section has text.
func runbook(t *testing.T, name, title string) string {
	t.Helper()
	page := read(t, runbooks+name)
	form := regexp.MustCompile(`(?s)^# (.+?)\n.*\n## Meaning\n\s*[^#\s].*\n## Impact\n\s*[^#\s].*\n## Diagnosis\n\s*[^#\s].*\n## Mitigation\n\s*\S`)
	found := form.FindStringSubmatch(page)
	require.NotNil(t, found, "%s: write a title, and text below each of Meaning, Impact, Diagnosis and Mitigation, in this order", name)
	assert.Equal(t, title, found[1], "%s: begin the page with this title", name)
	return page
}

func pagesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*.md"))
	require.NoError(t, err)
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".md"))
	}
	return names
}

// withoutActions replaces a template's value of a label by the name of the
// label.
func withoutActions(s string) string {
	return regexp.MustCompile(`\{\{ \$labels\.(\w+) \}\}`).ReplaceAllString(s, "`$1`")
}

// generated compares the part of a page between a mark and the next end mark
// with want, or rewrites it.
func generated(t *testing.T, name, mark, want string) {
	t.Helper()
	head, rest, found := strings.Cut(read(t, name), mark)
	require.True(t, found, "%s has no mark %q above its table; add it", name, mark)
	got, tail, found := strings.Cut(rest, "<!-- end -->")
	require.True(t, found, "%s has no <!-- end --> below its table; add it", name)
	if *update {
		page := head + mark + want + "<!-- end -->" + tail
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(page), 0o644))
		return
	}
	assert.Equal(t, want, got, "%s: the table is old; go test ./internal/repotest -update writes it", name)
}
