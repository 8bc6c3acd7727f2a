// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestReservedPortIsOursAlone(t *testing.T) {
	p, err := reservePort()
	require.NoError(t, err)
	other, err := reservePort()
	require.NoError(t, err)
	defer func() { assert.NoError(t, other.release()) }()
	assert.NotEqual(t, p.number, other.number)

	address := fmt.Sprintf("127.0.0.1:%d", p.number)
	_, err = net.Listen("tcp", address)
	require.ErrorIs(t, err, syscall.EADDRINUSE, "others do not get it")
	_, err = net.Dial("tcp", address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "nothing listens yet")

	sharing := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		_ = c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return err
	}}
	for range 2 { // a server may come back to its port
		listener, err := sharing.Listen(t.Context(), "tcp", address)
		require.NoError(t, err, "a server that shares ports gets it")
		for range 10 {
			conn, err := net.Dial("tcp", address)
			require.NoError(t, err, "every connection goes to the server, none to the reservation")
			accepted, err := listener.Accept()
			require.NoError(t, err)
			_ = accepted.Close()
			_ = conn.Close()
		}
		require.NoError(t, listener.Close())
	}
	require.NoError(t, p.release())
}

func TestCertificatesServeTheirPurposeOnly(t *testing.T) {
	ours, err := newAuthority()
	require.NoError(t, err)
	theirs, err := newAuthority()
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(ours.pem))
	parse := func(pair keyPair, err error) *x509.Certificate {
		require.NoError(t, err)
		both, err := tls.X509KeyPair(pair.certificate, pair.key)
		require.NoError(t, err)
		return both.Leaf
	}
	server, client := parse(ours.server()), parse(ours.client("jane", []string{"readers", "writers"}))
	stranger := parse(theirs.client("jane", nil))

	verify := func(c *x509.Certificate, name string, usage x509.ExtKeyUsage) error {
		_, err := c.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, KeyUsages: []x509.ExtKeyUsage{usage}})
		return err
	}
	require.NoError(t, verify(server, "127.0.0.1", x509.ExtKeyUsageServerAuth))
	require.NoError(t, verify(server, "localhost", x509.ExtKeyUsageServerAuth))
	require.Error(t, verify(server, "", x509.ExtKeyUsageClientAuth))
	require.NoError(t, verify(client, "", x509.ExtKeyUsageClientAuth))
	require.Error(t, verify(client, "", x509.ExtKeyUsageServerAuth))
	require.Error(t, verify(stranger, "", x509.ExtKeyUsageClientAuth), "a user of another control plane is refused")
	assert.Equal(t, "jane", client.Subject.CommonName)
	assert.ElementsMatch(t, []string{"readers", "writers"}, client.Subject.Organization)
}

func TestGuardKillsWhatStillRunsAndNothingElse(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data with a space")
	require.NoError(t, os.Mkdir(data, 0o755))
	g, err := startGuard(data)
	require.NoError(t, err)
	sleeper := func() *exec.Cmd { return exec.CommandContext(t.Context(), "sleep", "60") }
	first, second, ended, foreign := sleeper(), sleeper(), sleeper(), sleeper()
	for _, cmd := range []*exec.Cmd{first, ended, second} {
		require.NoError(t, g.start(cmd))
	}
	require.NoError(t, foreign.Start())
	g.ended(ended) // as if another process had its pid by now

	require.NoError(t, g.input.Close()) // what the death of this process does
	for _, cmd := range []*exec.Cmd{first, second} {
		require.ErrorContains(t, cmd.Wait(), "killed")
	}
	require.NoError(t, g.cmd.Wait())
	assert.NoDirExists(t, data)
	for _, cmd := range []*exec.Cmd{ended, foreign} {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.ErrorContains(t, cmd.Wait(), "terminated", "it was not killed before")
	}
}

func TestGuardThatHasNothingToDoLeavesTheData(t *testing.T) {
	data := t.TempDir()
	g, err := startGuard(data)
	require.NoError(t, err)
	require.NoError(t, g.stop())
	assert.DirExists(t, data)
	assert.Error(t, g.start(exec.CommandContext(context.WithoutCancel(t.Context()), "sleep", "60")), "a process without a guard is not left running")
}

func TestTailIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	assert.Contains(t, tail(path), "no log")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	assert.Contains(t, tail(path), path)
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("early\n", 10_000)+"last\n"), 0o600))
	assert.Equal(t, tailLines, strings.Count(tail(path), "\n\t"))
	assert.True(t, strings.HasSuffix(tail(path), "\n\tlast"))
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 1<<20)), 0o600))
	assert.LessOrEqual(t, len(tail(path)), tailBytes+200)
}
