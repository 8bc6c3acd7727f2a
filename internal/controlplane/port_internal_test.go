// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReservedPortIsOursAlone(t *testing.T) {
	p, err := reservePort()
	require.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", p.number)
	_, err = net.Listen("tcp", address)
	require.ErrorIs(t, err, syscall.EADDRINUSE, "others do not get it")
	_, err = net.Dial("tcp", address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "the reservation itself accepts nothing")
	require.NoError(t, p.release())
}
