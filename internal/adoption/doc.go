// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adoption runs other people's test suites with controllerkit in their
// code.
//
// Its tests take a project as its authors publish it, insert the lines that an
// adopter would write, and run the project's own tests:
//
//   - kubebuilder: a fresh scaffold, its own make targets and its envtest suite
//   - sample-controller: the example of the Kubernetes project, its unit tests
//     and its generators
//   - public: agent-sandbox and external-snapshotter, whose unchanged tests run
//     with the inserted lines and without
//   - peers: the tests of Flux's patch helper and of apimachinery's conditions,
//     with package status in place of their code
//   - generators: deepcopy-gen, applyconfiguration-gen and controller-gen on a
//     type that embeds status.Stamp
//
// Each project keeps its own versions of client-go and controller-runtime, and
// a test fails if adding controllerkit changes one of them.
//
// The inserted lines are in testdata, as one patch for each project with a
// single line of context. git refuses a patch whose lines are gone, and the
// project's own tests show whether the rest is right. No file of another
// project is stored here: the Go command downloads them, and go.sum or
// testdata/public.sum pins them. README has the number of lines that the
// patches of public projects add and remove.
//
// Run it with make adoption. The first run builds kubebuilder, the generators
// and the control plane.
package adoption
