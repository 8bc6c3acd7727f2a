// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	yamlv3 "go.yaml.in/yaml/v3"

	"sigs.k8s.io/yaml"
)

func readChart(t *testing.T, name string) []byte {
	t.Helper()
	return readFile(t, filepath.Join(chartDir, name))
}

// whole are the maps that are one value: what Kubernetes has there is not the
// chart's to list.
var whole = regexp.MustCompile(`\.(resources|readinessProbe|podSecurityContext|securityContext)$`)

// leaves are the values that have a row: the values of both workloads have one,
// under <workload>.
func leaves(prefix string, v any, into map[string]string) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 || prefix == "metrics.dashboards.labels" || whole.MatchString(prefix) {
		text, _ := json.Marshal(v)
		into[prefix] = string(text)
		return
	}
	for key, value := range m {
		leaves(strings.TrimPrefix(prefix+"."+key, "."), value, into)
	}
}

// TestReadmeHasEveryValue: a row for each, with its default, and no row for
// what is none.
//
//req:shows A3
func TestReadmeHasEveryValue(t *testing.T) {
	var values map[string]any
	require.NoError(t, yaml.Unmarshal(readChart(t, "values.yaml"), &values))
	want := map[string]string{}
	leaves("", values, want)

	var page yamlv3.Node
	require.NoError(t, yamlv3.Unmarshal(readChart(t, "values.yaml"), &page))
	meanings := map[string]string{}
	comments("", page.Content[0], meanings)
	is := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Za-z.<>]+)` \\| `(.*?)` \\| (.*?) \\|$").FindAllStringSubmatch(string(readChart(t, "README.md")), -1) {
		names := []string{m[1]}
		if rest, ok := strings.CutPrefix(m[1], "<workload>."); ok {
			names = []string{"controllers." + rest, "controlPlane." + rest}
		}
		for _, name := range names {
			assert.NotContains(t, is, name, "a value twice")
			is[name] = m[2]
			assert.Equal(t, m[3], meanings[name], "%s: README and the comment in values.yaml", name)
		}
	}
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(is)))
	for name, value := range want {
		assert.Equal(t, value, is[name], name)
	}
}

// comments are what values.yaml says above each value, in its last line.
func comments(prefix string, node *yamlv3.Node, into map[string]string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := strings.TrimPrefix(prefix+"."+node.Content[i].Value, ".")
		above := node.Content[i].HeadComment
		into[name] = strings.TrimPrefix(above[strings.LastIndex(above, "\n")+1:], "# ")
		comments(name, node.Content[i+1], into)
	}
}

// TestTheSchemaHasEveryValue: the names of values.yaml, and only global
// besides, which Helm hands to every chart.
//
//req:shows A3
func TestTheSchemaHasEveryValue(t *testing.T) {
	var values map[string]any
	require.NoError(t, yaml.Unmarshal(readChart(t, "values.yaml"), &values))
	var schema map[string]any
	require.NoError(t, json.Unmarshal(readChart(t, "values.schema.json"), &schema))
	definitions := schema["definitions"].(map[string]any)
	var compare func(path string, schema map[string]any, value any)
	compare = func(path string, schema map[string]any, value any) {
		if ref, ok := schema["$ref"].(string); ok {
			schema = definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
		}
		m, ok := value.(map[string]any)
		properties, closed := schema["properties"].(map[string]any)
		if !ok || !closed || strings.HasSuffix(path, ".progressiveDelivery") || strings.HasSuffix(path, ".limits") || strings.HasSuffix(path, ".authorization") {
			return
		}
		assert.Equal(t, false, schema["additionalProperties"], "%s is not closed", path)
		names := slices.Sorted(maps.Keys(properties))
		names = slices.DeleteFunc(names, func(n string) bool {
			instead, _ := properties[n].(map[string]any)["const"].(string)
			return n == "global" || strings.Contains(instead, " ") // it tells the name that it has here
		})
		assert.Equal(t, names, slices.Sorted(maps.Keys(m)), path)
		for key, v := range m {
			if p, ok := properties[key].(map[string]any); ok {
				compare(path+"."+key, p, v)
			}
		}
	}
	compare("", schema, values)
}

// TestReadmeCommandsRender: the values that README shows are accepted.
func TestReadmeCommandsRender(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(readChart(t, "README.md")), -1)
	require.NotEmpty(t, blocks)
	for _, b := range blocks {
		_, err := template(t, b[1], "--api-versions="+rolloutAPI)
		assert.NoError(t, err, b[1])
	}
}

// TestTheImageIsBuilt: the line of the Dockerfile that compiles gives a static
// program, and the chart runs it as the user of the image.
func TestTheImageIsBuilt(t *testing.T) {
	program := string(readFile(t, imageProgram(t)))
	assert.NotContains(t, program, "ld-linux", "it needs no loader: the image has none")

	dockerfile := string(readChart(t, "Dockerfile"))
	user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(dockerfile)
	require.NotNil(t, user, "a number, or a kubelet cannot tell that it is not root")
	out, err := template(t, "{}")
	require.NoError(t, err)
	assert.Contains(t, out, "runAsUser: "+user[1])
	assert.Contains(t, out, "runAsGroup: "+user[2])
}
