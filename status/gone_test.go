// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/status"
)

// TestCommit_OnlyTheAPIServerSaysThatAnObjectIsGone: a controller drops the key
// of an object that is gone, and with it the last status of a run.
//
//req:shows S4
func TestCommit_OnlyTheAPIServerSaysThatAnObjectIsGone(t *testing.T) {
	runs := schema.GroupResource{Group: "example.com", Resource: "runs"}
	proxy := func(code int, text string) error {
		return apierrors.NewGenericServerResponse(code, "patch", runs, "a", text, 0, true)
	}
	type answers []any // errors, or what is stored
	var (
		gone        = apierrors.NewNotFound(runs, "a")
		another     = apierrors.NewNotFound(runs, "b")
		bare        = &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}}
		forbidden   = apierrors.NewForbidden(runs, "a", errors.New(`User "writer" cannot patch resource "runs"`))
		conflict    = apierrors.NewConflict(runs, "a", errors.New("the object has been modified"))
		expired     = apierrors.NewUnauthorized("the token has expired")
		unavailable = apierrors.NewServiceUnavailable("starting")
		notServed   = proxy(http.StatusNotFound, "404 page not found")
		firewall    = proxy(http.StatusForbidden, "<html>")
	)
	cases := map[string]struct {
		reason  string
		answers answers
		fails   error
		says    string // neither for Gone
	}{
		"BothSaySo":      {"The object is gone.", answers{gone, gone}, nil, ""},
		"NoRightToLook":  {"The first answer is all there is.", answers{gone, forbidden}, nil, ""},
		"Recreated":      {"Another object has the name.", answers{gone, &Run{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "successor"}}}, nil, ""},
		"AfterAConflict": {"It was deleted after the conflict.", answers{conflict, gone}, nil, ""},

		"NotServed":               {"No object of that version was looked for.", answers{notServed}, notServed, "status: commit: patching a: a 404 that no API server wrote"},
		"NotServedAfterAConflict": {"It was until now.", answers{conflict, notServed}, notServed, "status: commit: reading a after a conflict: a 404 that no API server wrote"},
		"LoadBalancer":            {"Its server has gone away.", answers{gone, notServed}, notServed, "status: commit: asking whether a exists, after a 404: a 404 that no API server wrote"},
		"Firewall":                {"Who has which right is not for it to say.", answers{gone, firewall}, firewall, "asking whether a exists, after a 404: "},
		"AnotherObject":           {"That one is gone, not this one.", answers{another}, another, `a 404 about runs.example.com "b", want "a"`},
		"NoDetails":               {"The answer does not name the missing object.", answers{bare}, bare, "does not say what it is about"},
		"TooLate":                 {"Without an answer nothing is known of the object.", answers{gone, context.DeadlineExceeded}, context.DeadlineExceeded, "asking whether a exists, after a 404: "},
		"Unavailable":             {"The server could not answer.", answers{gone, unavailable}, unavailable, "starting"},
		"Refused":                 {"A server that does not listen says nothing of the object.", answers{gone, syscall.ECONNREFUSED}, syscall.ECONNREFUSED, "asking whether a exists, after a 404: "},
		"Nothing":                 {"A fake that returns nil proves nothing.", answers{gone, (*Run)(nil)}, nil, "asking whether a exists, after a 404: the client returned no object of that name with a uid"},
		"NoUID":                   {"No object of an API server.", answers{gone, &Run{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, nil, "no object of that name with a uid"},
		"NotAskedFor":             {"It is about another object.", answers{gone, &Run{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "b"}}}, nil, "no object of that name with a uid"},
		"Unauthorized":            {"It does not say that a right is missing.", answers{gone, expired}, expired, "the token has expired"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, before := start(t)
			after := before.DeepCopy()
			after.Status.Phase = "Running"
			asked := 0
			result, err := via(patching(func([]byte, ...string) (*Run, error) {
				asked++
				require.LessOrEqual(t, asked, len(tc.answers), "no request more")
				if err, ok := tc.answers[asked-1].(error); ok {
					return nil, err
				}
				return tc.answers[asked-1].(*Run), nil
			}), status.Writer{}).Commit(t.Context(), before, after, running)
			assert.Len(t, tc.answers, asked, "nor one less")
			if tc.says == "" {
				require.NoError(t, err, tc.reason)
				assert.Equal(t, status.Gone, result)
				return
			}
			require.ErrorContains(t, err, tc.says, tc.reason)
			assert.Empty(t, result)
			if tc.fails != nil {
				require.ErrorIs(t, err, tc.fails)
			}
		})
	}
}
