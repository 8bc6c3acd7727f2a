// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// port is a loopback port that no other process gets until it is released.
//
// A socket is bound to the port but never listens, so it accepts no connection.
// With SO_REUSEPORT our servers (--permit-port-sharing) can listen on the same
// port, and so can other processes of the same user. The port therefore stays
// reserved between its choice and its use, and while a test keeps a server
// down. Without the socket, a client that reconnects could get this port as its
// own.
type port struct {
	number int
	socket int
}

// reservePort reserves a free port on 127.0.0.1, which the system chooses.
func reservePort() (*port, error) {
	syscall.ForkLock.RLock() // no child may inherit the socket
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	}
	if err == nil {
		err = unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var address unix.Sockaddr
	if err == nil {
		address, err = unix.Getsockname(socket)
	}
	if err != nil {
		return nil, fmt.Errorf("controlplane: port: %w", err)
	}
	bound := address.(*unix.SockaddrInet4) //nolint:forcetypeassert // as above
	return &port{number: bound.Port, socket: socket}, nil
}

// release gives the port back.
func (p *port) release() error {
	return os.NewSyscallError("close", unix.Close(p.socket))
}
