// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A hand-written scanner may take quadratic time. The test counts the bytes
// that it reads, because its time depends on the machine.
func TestHostileTextTakesLinearTime(t *testing.T) {
	const size = 64 << 10
	looked := func(s string) int {
		c := scanner{s: s}
		c.scan()
		return c.looked
	}
	fill := func(s string) string { return strings.Repeat(s, size/len(s)+1)[:size] }
	benign := looked(fill(`reconcile of runs/run-1 failed: Get "https://10.96.0.1:443/api/v1/pods?limit=5": context deadline exceeded, `))
	assert.LessOrEqual(t, benign, 3*size)
	assert.GreaterOrEqual(t, benign, size, "each byte is looked at, and counted")
	for _, part := range []string{
		"a", "-", " ", ":", "=", "@", "/", "[", "\"", "'", "\\", "%41", "~", ">", "}", ".",
		"eyJ/", "eyJ.", "eyJhbGciOi.", "password:", "password=", "password: ", "password=x://", "secret:", "secret=a-b:", "secret:a-",
		"://", "a://", "a://b:c/", "a://b:c/d@", "a://b@", "a://b:1/", "https://u:p", "@tcp(", "a:@tcp(", "a:b@tcp(",
		"bearer ", "bearer a", "basic YTpi", "basic ", "-u a:", "-u ", "--password ", "token: foo ", "token: foo",
		`"data":{`, `"data":{"a":"`, `"a":"`, `\"a\":\"`, `'a':'`, `"stringData":{"a":'`, `"password":"\"`, `token: "`, `token: 'a-b`,
		"cookie:", "cookie:a=b;", "cookie:a;", "cookie: a=b; ", "<password>", "<password", "-----BEGIN ", "-----BEGIN PRIVATE", "-----END",
		"s.", "sl.a", "hvs.", "hvs.a", "dp.pt.", "sha256~", "v1.0-", "aaa1Q~", "aaa1Q~password=", "12345678:AA", "12345678:A",
		"password:[", "password=[]uint8{", "password=[redacted]", "[redacted]", "[redacted", "aaaaaaaaaaaaaa.atlasv1.", "pat56789012345678.",
		"password=a,", "password=a,b", "password=a&b=", "password=a)b", "authorization: bearer ", "authorization:token ", "token:token:", "ghp_", "AKIA",
		"token: Invalid value: ", `token: Invalid value: "`, `secret: Invalid value: "a`, `token: Unsupported value: "a`, "token: Not found: ",
		"name:", "name: ", "name:token", "name:token,", "name:token  ", "name:token,value", "name:token,value:", `"name":"token","value":"`,
		"pass=1 ", "pass=11111111,;", "a:@/", "a:b@(", "a:@(/", "a:@", "a:@@(", "a:/@/", "@(", "@/", `\"password\":\"\\`, `"token": `, `"token": a`,
		"&a: ", "!a: ", "password: !a: ", "a: |- ", "a: & ", "password: |\n  aB3xK9mQ2\n  ", "token: |\n aB3xK9mQ2", "token:\n  a_b: ", "password: !a ", "password: | ", "password: |", "!a ", "| ", "password:\n ", "password:\t", `\\\"`, `\\\"a\\\":\\\"`, `\\\\\\\"`, `password=\\\"a`,
		`"name":"a", "value":"b",`, "--token\"", `"--token",`, `"--token" "`, `"-u","`, `"-u","a:`, "--token ", "--token -",
	} {
		assert.LessOrEqual(t, looked(fill(part)), 5*benign, "%q", part)
		assert.LessOrEqual(t, looked(fill("password="+part)), 5*benign, "password=%q", part)
		assert.LessOrEqual(t, looked("password="+fill(part)), 5*benign, "password= once, %q", part)
		assert.LessOrEqual(t, looked(`{"data":{"a":"`+fill(part)), 5*benign, "data, %q", part)
	}
}
