// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// An API server ends a watch after the timeoutSeconds that the informer asked
// for, 5 to 10 minutes. It ends any other request after --request-timeout, a
// minute by default.
const (
	watchGrace    = 30 * time.Second
	requestAtMost = 5 * time.Minute
)

// timeLimit ends each request that the API server should have ended long ago. A
// server or proxy can accept a watch and then never send or close anything,
// while it keeps the connection alive. client-go waits for it forever, and the
// cache gets no change. After the end the informer watches again.
type timeLimit struct{ next http.RoundTripper }

// limitTime is for the Wrap method of rest.Config.
func limitTime(next http.RoundTripper) http.RoundTripper { return &timeLimit{next} }

// RoundTrip sends the request. The time includes the reading of the body.
func (t *timeLimit) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), longest(request))
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &timeLimitBody{response.Body, cancel}
	return response, nil
}

// WrappedRoundTripper lets apimachinery's helpers find what is below.
func (t *timeLimit) WrappedRoundTripper() http.RoundTripper { return t.next }

// longest is how long a request may take.
func longest(request *http.Request) time.Duration {
	query := request.URL.Query()
	seconds, err := strconv.Atoi(query.Get("timeoutSeconds"))
	if err != nil || query.Get("watch") == "" {
		return requestAtMost
	}
	return time.Duration(seconds)*time.Second + watchGrace
}

// timeLimitBody releases the timer of its request.
type timeLimitBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close ends the request.
func (b *timeLimitBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
