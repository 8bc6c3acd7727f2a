// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package adoption_test

import (
	"testing"
)

// These tell a generator which package has the apply configuration of
// status.Stamp.
const (
	stampType  = modulePath + "/status.Stamp"
	stampApply = modulePath + "/status/applyconfiguration"
)

// TestGenerators_AcceptATypeThatEmbedsStamp generates deep copies and apply
// configurations for the kind in testdata, compiles them and uses them.
func TestGenerators_AcceptATypeThatEmbedsStamp(t *testing.T) {
	for name, generate := range map[string]func(project){
		"CodeGenerator": func(p project) {
			deepcopy := tool(p.t, "../tools", "deepcopy-gen", "k8s.io/code-generator/cmd/deepcopy-gen")
			p.run(deepcopy, "--go-header-file=header.txt", "--output-file=zz_generated.deepcopy.go", "./api/v1")
			apply := tool(p.t, "../tools", "applyconfiguration-gen", "k8s.io/code-generator/cmd/applyconfiguration-gen")
			p.run(apply, "--go-header-file=header.txt", "--external-applyconfigurations="+stampType+":"+stampApply,
				"--output-dir=api/v1/applyconfiguration", "--output-pkg=example.com/runs/api/v1/applyconfiguration", "./api/v1")
		},
		"ControllerGen": func(p project) {
			controllerGen := tool(p.t, "../tools", "controller-gen", "sigs.k8s.io/controller-tools/cmd/controller-gen")
			p.run(controllerGen, "object:headerFile=header.txt", "crd", "paths=./api/v1", "output:crd:dir=crds",
				"applyconfiguration:headerFile=header.txt,externalApplyConfigurations="+stampType+"@"+stampApply)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, "runs")
			p.init(".", "example.com/runs")
			p.insert("generators.patch")
			p.require()
			generate(p)
			p.run("go", "mod", "tidy")
			p.run("go", "test", "-race", "-count=1", "-vet=off", "./...")
		})
	}
}
