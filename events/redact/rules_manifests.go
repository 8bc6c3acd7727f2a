// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

// manifestRules find the values in the manifest of a Secret. The API server
// quotes a manifest that it cannot decode.
func manifestRules() []rule {
	return []rule{
		{
			name:     "data of a Secret in JSON",
			keywords: "data",
			find:     `data["'\\]*: *\{((?:"(?:[^"\\]|\\.)*"|[^"}])*)`,
			each:     `: *\\*["']([A-Za-z0-9+/]{6,}={0,2})\\*["']`,
			leak:     `{"data":{"cert":"<<{b:64}>>","count":"3"},"kind":"Secret"}`,
			harmless: `{"data":{"count":"3","name":"run-1"}}`,
		},
		{
			name:     "strings of a Secret in JSON",
			keywords: "stringData",
			find:     `stringData["'\\]*: *\{((?:"(?:[^"\\]|\\.)*"|[^"}])*)`,
			each:     `: *{quoted}`,
			keep:     `{harmless}|.`,
			leak:     `{"stringData":{"user":"<<tok-99-alpha>>","x":"<<{p:12}>>"},"kind":"Secret"}`,
			harmless: `stringData is not allowed here`,
		},
		{
			name:     "data of a Secret in YAML",
			keywords: "kind:",
			find:     `kind: Secret(?s:.*?)\sdata:\s((?s:.*?)(?:\s(?:type|kind|metadata|stringData):|\z))`,
			each:     `{encoded}`,
			leak:     `error: kind: Secret data: tls: <<{c:tls}>> user: <<{c:user}>>`,
			harmless: `kind: Secret metadata: name: db`,
		},
		{
			name:     "data of a Secret in YAML before its kind",
			keywords: "data:",
			find:     `data:\s((?s:.*?))\skind: Secret`,
			each:     `{encoded}`,
			leak:     `error: apiVersion: v1 data: tls: <<{c:tls}>> kind: Secret`,
			harmless: `data: count: abcdefgh kind: ConfigMap`,
		},
		{
			name:     "strings of a Secret in YAML",
			keywords: "kind:",
			find:     `kind: Secret(?s:.*?)\sstringData:\s((?s:.*?)(?:\s(?:type|kind|metadata|data):|\z))`,
			each:     `[\w.-]+:\s+{scalar}(?:{quoted}|{bare})`,
			keep:     `{harmless}|{open}`,
			leak:     `kind: Secret stringData: note: <<{a:16}>> type: Opaque`,
			harmless: `kind: Secret type: Opaque`,
		},
	}
}
