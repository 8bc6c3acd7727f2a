// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestSamples plays every sample of the demo and compares the stored objects
// with the sample's promise. No object, log line or pod has a secret.
//
//req:shows A1 E1 E5 E7 J3
func TestSamples(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	all, err := play.Load()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 9)
	require.NoError(t, stage.Restrict(t.Context()))
	var secrets []string
	for _, s := range all {
		if s.Secret != nil {
			secrets = slices.AppendSeq(secrets, maps.Values(s.Secret.StringData))
		}
	}
	require.NotEmpty(t, secrets)
	seen := suite.Record(t, stage, secrets...)
	p := plane.Start(t, stage, suite.Controller{})
	t.Run("stories", func(t *testing.T) {
		for _, s := range all {
			t.Run(strings.TrimSuffix(s.File, ".yaml"), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				require.NoError(t, s.Create(ctx, stage))
				require.NoError(t, s.Play(ctx, stage))
				require.Empty(t, s.Check(ctx, stage), s.Title)
				for _, name := range s.Names() {
					run, err := stage.Runs.Get(ctx, name, metav1.GetOptions{})
					require.NoError(t, err)
					suite.AssertEnded(t, run)
				}
				described, err := plane.Admin.Run(ctx, nil, "--namespace="+stage.Namespace, "describe", "aruns", s.Names()[0])
				require.NoError(t, err)
				for _, reason := range s.Events {
					assert.Regexp(t, `(?m)^  (Warning|Normal) +`+reason+` `, described, "kubectl describe shows the event")
				}
			})
		}
	})
	breaches, _ := seen.Breaches()
	assert.Empty(t, breaches)
	log, err := os.ReadFile(p.Log)
	require.NoError(t, err)
	require.NotEmpty(t, log)
	pods, err := plane.Admin.Run(t.Context(), nil, "--namespace="+stage.Namespace, "get", "pods", "-o", "yaml")
	require.NoError(t, err)
	for _, secret := range secrets {
		assert.NotContains(t, string(log), secret, "the controller's log")
		assert.NotContains(t, pods, secret, "pods")
	}
}
