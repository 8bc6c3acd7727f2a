// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package netns_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane/netns"
)

// inner says what the program does: run itself again in a namespace, and say
// there what it sees.
const inner = "CONTROLLERKIT_NETNS_TEST"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(inner) == "":
		os.Exit(m.Run())
	case netns.Alone():
		fmt.Print(os.Args[1], " ", look())
		os.Exit(7)
	}
	code, err := netns.Again(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// look reaches a listener on its own loopback.
func look() error {
	if err := netns.Up(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	_, err = net.Dial("tcp", "127.0.0.1:"+port)
	return err
}

func TestAgainRunsInANamespaceWithALoopbackOnly(t *testing.T) {
	require.False(t, netns.Alone(), "the test itself is not in one")
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "an argument")
	cmd.Env = append(os.Environ(), inner+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 7, exit.ExitCode(), "the exit code comes through")
	assert.Equal(t, "an argument <nil>", string(out), "the arguments come through, and the loopback works")
}
