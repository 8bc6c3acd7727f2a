// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"errors"
	"fmt"

	"github.com/proompteng/controllerkit/events/redact"
)

func Example() {
	err := errors.New("dial postgres://app:" + "s3cr3t-pw" + "@db.runs.svc:5432/app: timeout")
	fmt.Println(redact.Text(err.Error()))
	// Output: dial postgres://app:[redacted]@db.runs.svc:5432/app: timeout
}

func ExampleText() {
	fmt.Println(redact.Text(`secret "db-credentials" not found`))
	fmt.Println(redact.Text("GET /v1/models?api_key=" + "0a1b2c3d4e5f" + "&limit=10: 401"))
	// Output:
	// secret "db-credentials" not found
	// GET /v1/models?api_key=[redacted]&limit=10: 401
}

func ExampleNote() {
	fmt.Println(redact.Note("first line\nAuthorization: Bearer "+"abc123def456", redact.Text))
	// Output: first line Authorization: Bearer [redacted]
}

func ExampleSecretValues() {
	var secrets redact.SecretValues
	data := map[string][]byte{"password": []byte("correct horse battery staple\n")}
	for _, v := range data {
		secrets.Add(v)
	}
	fmt.Println(secrets.Redact("login with correct horse battery staple failed"))
	// Output: login with [redacted] failed
}

func ExampleSecretValues_Add() {
	var secrets redact.SecretValues
	fmt.Println(secrets.Add([]byte("too short")[:7], []byte("long enough")))
	// Output: 1
}

func ExampleSecretValues_Redact() {
	var secrets redact.SecretValues
	secrets.Add([]byte("open sesame"))
	fmt.Println(secrets.Redact("data: b3BlbiBzZXNhbWU= has a wrong value"))
	// Output: data: [redacted]= has a wrong value
}
