// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command check finds what the compiler would refuse in packages of the module
// in the working directory, and in their imports. It checks types from
// source: to compile a client-go that no other test uses takes 20 times as
// long. It is not a part of the test, whose race detector would slow it down.
package main

import (
	"flag"
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	tests := flag.Bool("tests", false, "check the tests of the packages too")
	flag.Parse()
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
			packages.NeedImports | packages.NeedDeps | packages.NeedTypes,
		Tests: *tests,
		Env:   append(os.Environ(), "CGO_ENABLED=0"),
	}, flag.Args()...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
	checked := 0
	packages.Visit(all, nil, func(*packages.Package) { checked++ })
	if packages.PrintErrors(all) > 0 {
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, checked, "packages")
}
