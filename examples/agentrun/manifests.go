// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
)

const manifestsHelp = `agentrun manifests prints the Deployment in a file, or its canary of Argo Rollouts.

Usage: agentrun manifests FILE

Environment:
  JANGAR_PROGRESSIVE_DELIVERY_ENABLED
        print a canary: true or false (default false)
`

const canaryVariable = "JANGAR_PROGRESSIVE_DELIVERY_ENABLED"

// manifests runs "agentrun manifests".
func manifests(args []string, lookup func(string) (string, bool), stdout io.Writer) error {
	if len(args) != 1 {
		return usageError{errors.New("manifests: want one file with a Deployment; see manifests --help")}
	}
	if args[0] == "--help" {
		_, err := io.WriteString(stdout, manifestsHelp)
		return err
	}
	canary := false
	text, set := lookup(canaryVariable)
	if set && text != "" {
		var err error
		canary, err = strconv.ParseBool(text)
		if err != nil {
			return usageError{fmt.Errorf("%s: %q is not accepted; want true or false", canaryVariable, text)}
		}
	}
	manifest, err := os.ReadFile(args[0])
	if err != nil {
		return usageError{fmt.Errorf("manifests: %w", err)}
	}
	var deployment appsv1.Deployment
	err = yaml.UnmarshalStrict(manifest, &deployment)
	if err != nil {
		return usageError{oneLine(fmt.Errorf("manifests: %s is not one Deployment: %w", args[0], err))}
	}
	obj, err := rollout.Render(&deployment, canary, rollout.Options{})
	if err != nil {
		return usageError{oneLine(err)}
	}
	return writeYAML(stdout, obj)
}

// writeYAML writes an object without its status, which is the server's.
func writeYAML(w io.Writer, obj any) error {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return err
	}
	delete(tree, "status")
	data, err := yaml.Marshal(tree)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// oneLine joins the lines of an error.
func oneLine(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}
