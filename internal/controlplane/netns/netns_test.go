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

// inner says what the program does: run itself again, and there say what it
// sees.
const inner = "CONTROLLERKIT_NETNS_TEST"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(inner) == "":
		os.Exit(m.Run())
	case netns.Alone():
		os.Exit(look())
	}
	code, err := netns.Again(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// look listens on every address, is reached by its own loopback, and finds no
// way out.
func look() int {
	if err := netns.Up(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = conn.Close()
	interfaces, err := net.Interfaces()
	fmt.Println(len(interfaces), err, os.Args[len(os.Args)-1])
	return 7
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
	assert.Equal(t, "1 <nil> an argument\n", string(out), "one interface; the arguments come through")
}
