// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"encoding/json"
	"fmt"
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
var whole = regexp.MustCompile(`\.(container|dashboards\.labels)$`)

// rows are the default of each value and its meaning, the last line above it.
func rows(t *testing.T, prefix string, node *yamlv3.Node, into map[string]string) {
	t.Helper()
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		name := strings.TrimPrefix(prefix+"."+key.Value, ".")
		if value.Kind == yamlv3.MappingNode && len(value.Content) > 0 && !whole.MatchString(name) {
			rows(t, name, value, into)
			continue
		}
		var v any
		require.NoError(t, value.Decode(&v))
		text, err := json.Marshal(v)
		require.NoError(t, err)
		meaning := key.HeadComment[strings.LastIndex(key.HeadComment, "\n")+1:]
		into[name] = fmt.Sprintf("`%s` | %s", text, strings.TrimPrefix(meaning, "# "))
	}
}

// TestReadmeHasEveryValue: a row for each, with its default, and no row for
// what is none. The values of both workloads have one, under <workload>.
//
//req:shows A3
func TestReadmeHasEveryValue(t *testing.T) {
	var page yamlv3.Node
	require.NoError(t, yamlv3.Unmarshal(readChart(t, "values.yaml"), &page))
	want := map[string]string{}
	rows(t, "", page.Content[0], want)
	is := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Za-z.<>]+)` \\| (.*) \\|$").FindAllStringSubmatch(string(readChart(t, "README.md")), -1) {
		for _, workload := range []string{"controllers", "controlPlane"} {
			is[strings.Replace(m[1], "<workload>", workload, 1)] = m[2]
		}
	}
	assert.Equal(t, want, is)
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
	// What users have here is not in values.yaml.
	users := regexp.MustCompile(`\.(container|podLabels|(controllers|controlPlane)\.progressiveDelivery)$`)
	var compare func(path string, schema map[string]any, value any)
	compare = func(path string, schema map[string]any, value any) {
		if ref, ok := schema["$ref"].(string); ok {
			schema = definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
		}
		m, ok := value.(map[string]any)
		properties, closed := schema["properties"].(map[string]any)
		if !ok || !closed || users.MatchString(path) {
			return
		}
		assert.Equal(t, false, schema["additionalProperties"], "%s is not closed", path)
		names := slices.Sorted(maps.Keys(properties))
		names = slices.DeleteFunc(names, func(n string) bool { return n == "global" })
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
