// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// The faults share the control plane of the other tests, which do not run at
// the same time: each leaves it ready.

func TestStoppedProcessesComeBackWithTheirData(t *testing.T) {
	cp, client := start(t)
	ns := namespace(t, client)
	cases := map[string]struct {
		reason  string
		process *controlplane.Process
		end     func(*controlplane.Process) error
	}{
		"api-server-stopped":         {"An orderly end loses nothing.", cp.APIServer, (*controlplane.Process).Stop},
		"api-server-killed":          {"Nor does a sudden one.", cp.APIServer, (*controlplane.Process).Kill},
		"etcd-stopped":               {"The API server reconnects.", cp.Etcd, (*controlplane.Process).Stop},
		"etcd-killed":                {"Without fsync the data still outlives the process.", cp.Etcd, (*controlplane.Process).Kill},
		"controller-manager-stopped": {"Controllers start over.", cp.ControllerManager, (*controlplane.Process).Stop},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			maps := client.CoreV1().ConfigMaps(ns)
			_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(t, err)
			before := tc.process.Pid()
			require.NoError(t, tc.end(tc.process))
			assert.Zero(t, tc.process.Pid(), tc.reason)
			require.ErrorContains(t, cp.Ready(t.Context()), tc.process.Name(), tc.reason)
			require.NoError(t, tc.end(tc.process), "ending it again does nothing")

			require.NoError(t, tc.process.Start(t.Context()), tc.reason)
			require.NoError(t, cp.Ready(t.Context()), tc.reason)
			assert.NotEqual(t, before, tc.process.Pid(), tc.reason)
			_, err = maps.Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err, tc.reason)
			createJob(t, client, ns, job(name, nil))
		})
	}
	for name := range cases {
		finished(t, client, ns, name) // controllers and kubelet have come back, too
	}
}

func TestFrozenAPIServerAnswersNothingUntilItThaws(t *testing.T) {
	cp, client := start(t)
	require.NoError(t, cp.APIServer.Freeze())
	t.Cleanup(func() { assert.NoError(t, cp.APIServer.Thaw()) })

	for name, ask := range map[string]func(context.Context) error{
		"a request": func(ctx context.Context) error {
			_, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
			return err
		},
		"Ready": cp.APIServer.Ready,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.ErrorIs(t, ask(ctx), context.DeadlineExceeded, name)
	}

	require.NoError(t, cp.APIServer.Thaw())
	require.NoError(t, cp.Ready(t.Context()))
	_, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	require.NoError(t, err)
}

func TestFrozenProcessCanBeEnded(t *testing.T) {
	cp, _ := start(t)
	require.NoError(t, cp.ControllerManager.Freeze())
	require.NoError(t, cp.ControllerManager.Kill())
	require.NoError(t, cp.ControllerManager.Start(t.Context()))
	require.Error(t, cp.ControllerManager.Start(t.Context()), "a running process is not started twice")
}
