// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// breakage makes a good kind break a rule.
type breakage struct {
	reason string
	caught []string // the cases that fail
	apply  func(s *server, k *looseKindOf)
}

type looseKindOf = statustest.Kind[*unstructured.Unstructured]

// call is one call of a Committer that does something wrong around a good one.
type call struct {
	server        *server
	good          statustest.Committer
	ctx           context.Context
	before, after *unstructured.Unstructured
	facts         status.Facts
}

func (c call) commit() (status.Result, error) {
	return c.good.Commit(c.ctx, c.before, c.after, c.facts)
}

// phase is the phase that the call sets.
func (c call) phase() string {
	phase, _, _ := unstructured.NestedString(c.after.Object, "status", "phase")
	return phase
}

type wrapper func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error)

func (w wrapper) Commit(ctx context.Context, before, after status.Object, f status.Facts) (status.Result, error) {
	return w(ctx, before.(*unstructured.Unstructured), after.(*unstructured.Unstructured), f)
}

// instead has each call of the Writer made by commit.
func instead(commit func(call) (status.Result, error)) func(*server, *looseKindOf) {
	return func(s *server, k *looseKindOf) {
		good := k.Writer
		k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
			return commit(call{s, good, ctx, before, after, f})
		})
	}
}

func breakages() map[string]breakage {
	return map[string]breakage{
		"NeverStarts":               {"The mapping of phases forgets Running.", []string{"FirstWrite"}, instead(neverStarts)},
		"WritesWhenIdle":            {"A heartbeat of seconds writes each object all the time.", []string{"Idle"}, writesWhenIdle},
		"ChangesTheCache":           {"The copy of the informer changes.", []string{"Before"}, instead(changesTheCache)},
		"DropsTheAnswer":            {"The next Update of after conflicts.", []string{"After"}, instead(dropsTheAnswer)},
		"ClaimsTheStoredGeneration": {"setStatus reads the object again.", []string{"NewSpec"}, instead(claimsTheStoredGeneration)},
		"ForgetsTheEnd":             {"A run that starts again has no end.", []string{"Terminal"}, instead(forgetsTheEnd)},
		"DropsOtherConditions":      {"A list is one value of a merge patch.", []string{"OtherField"}, instead(dropsOtherConditions)},
		"RetriesAConflict":          {"RetryOnConflict with the same status.", []string{"SameField"}, retryAfter(is(status.ErrFieldConflict))},
		"RetriesAnOldGeneration":    {"The retry has the newer generation.", []string{"Superseded"}, retryAfter(isOfAnOldGeneration)},
		"RetriesOnANewObject":       {"The retry does not compare uids.", []string{"Recreated"}, retryAfter(is(status.ErrReplaced))},
		"RetriesAStaleCopy":         {"The status of a stale copy replaces a newer one.", []string{"StaleCopy"}, retryAfter(is(status.ErrStaleRead))},
		"IsMadeInEachReconcile":     {"Such a Writer remembers nothing.", []string{"Defaulted", "Pruned", "StaleCopy"}, instead(isMadeInEachReconcile)},
		"HidesALostField":           {"Nothing says that the CRD lacks the field.", []string{"Pruned"}, instead(hidesALostField)},
		"TakesADefaultForAChange":   {"A whole comparison differs forever.", []string{"Defaulted"}, instead(takesADefaultForAChange)},
		"HidesANull":                {"The status stays old without an error.", []string{"Nullable"}, instead(hidesANull)},
		"LeavesOutZero":             {"omitempty drops a required zero.", []string{"Required"}, instead(leavesOutZero)},
		"LosesTheVerdict":           {"The other libraries send all or nothing.", []string{"Refused"}, instead(losesTheVerdict)},
		"HasALaxClient": {
			"A client that accepts an outdated version passes only with NoConflicts.",
			[]string{"OtherField", "Recreated", "SameField", "Superseded"},
			func(s *server, _ *looseKindOf) { s.lax = true },
		},
		"HasNoReason": {
			"A case is not left out without a reason.",
			[]string{"Defaulted", "Nullable", "Pruned", "Refused", "Required"},
			func(_ *server, k *looseKindOf) {
				k.Pruned = nil
				k.Defaulted = nil
				k.Nullable = nil
				k.Required = nil
				k.Refused = nil
			},
		},
	}
}

func neverStarts(c call) (status.Result, error) {
	if c.facts.Progress == status.Running {
		c.facts.Progress = status.Waiting
	}
	return c.commit()
}

func writesWhenIdle(_ *server, k *looseKindOf) {
	w := k.Writer.(status.Writer)
	w.Heartbeat = 4 * time.Second
	k.Writer = w
}

func changesTheCache(c call) (status.Result, error) {
	result, err := c.commit()
	c.before.Object["status"] = c.after.Object["status"]
	return result, err
}

func dropsTheAnswer(c call) (status.Result, error) {
	c.after = c.after.DeepCopy()
	return c.commit()
}

func claimsTheStoredGeneration(c call) (status.Result, error) {
	result, err := c.commit()
	if err != nil {
		return result, err
	}
	generation, _, _ := unstructured.NestedInt64(c.server.objects[c.before.GetName()], "metadata", "generation")
	return result, c.patch(fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, generation))
}

func forgetsTheEnd(c call) (status.Result, error) {
	result, err := c.commit()
	if err == nil && c.facts.Progress == status.Running {
		err = c.patch(`{"status":{"finishedAt":null}}`)
	}
	return result, err
}

func dropsOtherConditions(c call) (status.Result, error) {
	result, err := c.commit()
	if err == nil && result == status.Merged {
		err = c.patch(`{"status":{"conditions":null}}`)
	}
	return result, err
}

func isMadeInEachReconcile(c call) (status.Result, error) {
	c.good = looseKind(c.server).Writer
	return c.commit()
}

func hidesALostField(c call) (status.Result, error) {
	result, err := c.commit()
	if result != "" && c.facts.Progress == status.Running {
		return result, nil
	}
	return result, err
}

func takesADefaultForAChange(c call) (status.Result, error) {
	_, sets, _ := unstructured.NestedString(c.after.Object, "status", "mode")
	result, err := c.commit()
	if result == status.Unchanged && !sets {
		_, err = c.server.patch(c.before.GetName(), []byte(`{"status":{"updatedAt":"2025-06-01T12:00:01Z"}}`), true)
	}
	return result, err
}

func hidesANull(c call) (status.Result, error) {
	result, err := c.commit()
	if apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueRequired) {
		return status.Unchanged, nil
	}
	return result, err
}

func leavesOutZero(c call) (status.Result, error) {
	total, _, _ := unstructured.NestedInt64(c.after.Object, "status", "total")
	if total == 0 {
		unstructured.RemoveNestedField(c.after.Object, "status", "total")
	}
	return c.commit()
}

func losesTheVerdict(c call) (status.Result, error) {
	if len(c.phase()) > 9 {
		return "", apierrors.NewRequestEntityTooLargeError(c.phase())
	}
	return c.commit()
}

// patch writes the status again, and gives the caller what is stored then.
func (c call) patch(data string) error {
	o, err := c.server.patch(c.before.GetName(), []byte(data), true)
	if err == nil {
		c.after.Object = (&unstructured.Unstructured{Object: o}).DeepCopy().Object
	}
	return err
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isOfAnOldGeneration(err error) bool {
	return errors.Is(err, status.ErrSuperseded) && !errors.Is(err, status.ErrStaleRead)
}

// retryAfter makes the Writer commit again, from a new copy, after some errors.
func retryAfter(retries func(error) bool) func(*server, *looseKindOf) {
	return func(s *server, k *looseKindOf) {
		get := k.Get
		instead(func(c call) (status.Result, error) {
			phase := c.phase()
			result, err := c.commit()
			if !retries(err) {
				return result, err
			}
			c.before, err = get(c.ctx, c.before)
			if err != nil {
				return "", err
			}
			c.after = c.before.DeepCopy()
			err = unstructured.SetNestedField(c.after.Object, phase, "status", "phase")
			if err != nil {
				return "", err
			}
			return c.commit()
		})(s, k)
	}
}

// ofBroken is the environment variable that makes this program run the broken
// kinds.
const ofBroken = "STATUSTEST_BROKEN"

func TestMain(m *testing.M) {
	if os.Getenv(ofBroken) == "" {
		os.Exit(m.Run())
	}
	all := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "Broken", F: runBroken}}, nil, nil)
}

func runBroken(t *testing.T) {
	t.Helper()
	for name, b := range breakages() {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			k := looseKind(s)
			b.apply(s, &k)
			statustest.Run(t, k)
		})
	}
}

// TestRun_CatchesEachBreach: exactly the cases that state a rule fail if it is
// broken, and the failure has the rule.
func TestRun_CatchesEachBreach(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.v")
	cmd.Env = append(os.Environ(), ofBroken+"=1")
	raw, err := cmd.CombinedOutput()
	require.Error(t, err, "each broken kind fails")
	output := string(raw)

	failed := map[string][]string{}
	for _, m := range regexp.MustCompile(`--- FAIL: Broken/(\w+)/(\w+) `).FindAllStringSubmatch(output, -1) {
		failed[m[1]] = append(failed[m[1]], m[2])
	}
	covered := map[string]bool{}
	for name, b := range breakages() {
		assert.Equal(t, b.caught, slices.Sorted(slices.Values(failed[name])), "%s: %s\n%s", name, b.reason, output)
		if len(b.caught) == 1 {
			covered[b.caught[0]] = true
		}
	}
	passed := map[string]bool{}
	for _, m := range regexp.MustCompile(`--- PASS: Broken/\w+/(\w+) `).FindAllStringSubmatch(output, -1) {
		passed[m[1]] = true
	}
	assert.Equal(t, slices.Sorted(maps.Keys(passed)), slices.Sorted(maps.Keys(covered)), "a case that no broken kind fails alone")
	assert.GreaterOrEqual(t, strings.Count(output, "the rule: "), len(covered))
}
