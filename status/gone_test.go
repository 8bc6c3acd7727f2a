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

// TestOnlyTheAPIServerSaysThatAnObjectIsGone: Gone is no error, so a controller drops the key, and with it
// the last status of a run.
func TestOnlyTheAPIServerSaysThatAnObjectIsGone(t *testing.T) {
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
		"AfterAConflict": {"It was deleted meanwhile.", answers{conflict, gone}, nil, ""},

		"NotServed":               {"No object of that version was looked for.", answers{notServed}, notServed, "status: patching a: a 404 that no API server wrote"},
		"NotServedAfterAConflict": {"It was until now.", answers{conflict, notServed}, notServed, "status: reading a after a conflict: a 404 that no API server wrote"},
		"LoadBalancer":            {"No server is behind it any more.", answers{gone, notServed}, notServed, "status: asking whether a exists, after a 404: a 404 that no API server wrote"},
		"Firewall":                {"Who has which right is not for it to say.", answers{gone, firewall}, firewall, "asking whether a exists, after a 404: "},
		"AnotherObject":           {"That one is gone, not this one.", answers{another}, another, `a 404 about runs.example.com "b", want "a"`},
		"NoDetails":               {"What is not found?", answers{bare}, bare, "does not say what it is about"},
		"TooLate":                 {"Nothing was answered.", answers{gone, context.DeadlineExceeded}, context.DeadlineExceeded, "asking whether a exists, after a 404: "},
		"Unavailable":             {"This is no answer.", answers{gone, unavailable}, unavailable, "starting"},
		"Refused":                 {"Nobody is there.", answers{gone, syscall.ECONNREFUSED}, syscall.ECONNREFUSED, "asking whether a exists, after a 404: "},
		"Nothing":                 {"A broken fake.", answers{gone, (*Run)(nil)}, nil, "asking whether a exists, after a 404: the client returned no object of that name with a uid"},
		"NoUID":                   {"No object of an API server.", answers{gone, &Run{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, nil, "no object of that name with a uid"},
		"NotAskedFor":             {"It says nothing of this one.", answers{gone, &Run{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "b"}}}, nil, "no object of that name with a uid"},
		"Unauthorized":            {"This is no missing right.", answers{gone, expired}, expired, "the token has expired"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, before := start(t)
			after := before.DeepCopy()
			after.Status.Phase = "Running"
			asked := 0
			result, err := status.Writer[*Run]{}.Commit(t.Context(), patching(func([]byte, ...string) (*Run, error) {
				asked++
				require.LessOrEqual(t, asked, len(tc.answers), "no request more")
				if err, ok := tc.answers[asked-1].(error); ok {
					return nil, err
				}
				return tc.answers[asked-1].(*Run), nil
			}), before, after, running)
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
