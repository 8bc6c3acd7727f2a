// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
)

// manifests prints the Deployment in a file, or its canary if the environment
// enables one, without the status, which is the API server's.
func manifests(lookup func(string) (string, bool), stdout io.Writer, files ...string) error {
	if len(files) != 1 {
		return errors.New("manifests: want one file with a Deployment")
	}
	canary := false
	value, _ := lookup("JANGAR_PROGRESSIVE_DELIVERY_ENABLED")
	if value != "" {
		var err error
		canary, err = strconv.ParseBool(value)
		if err != nil {
			const text = "JANGAR_PROGRESSIVE_DELIVERY_ENABLED: %q is not accepted; want true or false"
			return fmt.Errorf(text, value)
		}
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return fmt.Errorf("manifests: %w", err)
	}
	var deployment appsv1.Deployment
	err = yaml.UnmarshalStrict(text, &deployment)
	if err != nil {
		return fmt.Errorf("manifests: %s is not one Deployment: %w", files[0], err)
	}
	obj, err := rollout.Render(&deployment, canary, rollout.Options{})
	if err != nil {
		return err
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return err
	}
	delete(tree, "status")
	out, err := yaml.Marshal(tree)
	if err != nil {
		return err
	}
	_, err = stdout.Write(out)
	return err
}
