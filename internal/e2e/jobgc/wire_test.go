// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"io"
	"time"
)

// lagging is the body of a watch. Every byte arrives a while after it was sent.
type lagging struct {
	*io.PipeReader

	from io.Closer
}

func newLagging(from io.ReadCloser, lag time.Duration) *lagging {
	type piece struct {
		due  time.Time
		data []byte
		err  error
	}
	pieces := make(chan piece, 1<<14)
	go func() { // reads as soon as data comes, until the body ends or is closed
		defer close(pieces)
		for {
			data := make([]byte, 1<<14)
			n, err := from.Read(data)
			pieces <- piece{time.Now().Add(lag), data[:n], err}
			if err != nil {
				return
			}
		}
	}()
	reader, writer := io.Pipe()
	go func() {
		for p := range pieces {
			<-time.After(time.Until(p.due))
			_, _ = writer.Write(p.data) // fails once the reader is closed
			if p.err != nil {
				_ = writer.CloseWithError(p.err)
			}
		}
	}()
	return &lagging{reader, from}
}

// Close ends it.
func (l *lagging) Close() error {
	_ = l.PipeReader.Close()
	return l.from.Close()
}
