// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest_test

import (
	"context"
	"errors"
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

// wrapper is a Committer that does something wrong around a good one.
type wrapper func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error)

func (w wrapper) Commit(ctx context.Context, before, after status.Object, f status.Facts) (status.Result, error) {
	return w(ctx, before.(*unstructured.Unstructured), after.(*unstructured.Unstructured), f)
}

func breakages() map[string]breakage {
	return map[string]breakage{
		"NeverStarts": {"The mapping of phases forgets Running.", []string{"FirstWrite"}, func(_ *server, k *looseKindOf) {
			good := k.Writer
			k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
				if f.Progress == status.Running {
					f.Progress = status.Waiting
				}
				return good.Commit(ctx, before, after, f)
			})
		}},
		"WritesWhenIdle": {"A heartbeat of seconds writes each object all the time.", []string{"Idle"}, func(_ *server, k *looseKindOf) {
			w := k.Writer.(status.Writer)
			w.Heartbeat = 4 * time.Second
			k.Writer = w
		}},
		"ChangesTheCache": {"The copy of the informer changes.", []string{"Before"}, func(_ *server, k *looseKindOf) {
			good := k.Writer
			k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
				result, err := good.Commit(ctx, before, after, f)
				before.Object["status"] = after.Object["status"]
				return result, err
			})
		}},
		"DropsTheAnswer": {"The next Update of after conflicts.", []string{"After"}, func(_ *server, k *looseKindOf) {
			good := k.Writer
			k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
				return good.Commit(ctx, before, after.DeepCopy(), f)
			})
		}},
		"ClaimsTheStoredGeneration": {"setStatus reads the object again.", []string{"NewSpec"}, func(s *server, k *looseKindOf) {
			k.Writer = afterwards(s, k.Writer, func(o map[string]any, _ status.Facts, _ status.Result) string {
				generation, _, _ := unstructured.NestedInt64(o, "metadata", "generation")
				return `{"status":{"observedGeneration":` + string(rune('0'+generation)) + `}}`
			})
		}},
		"ForgetsTheEnd": {"A run that starts again has no end.", []string{"Terminal"}, func(s *server, k *looseKindOf) {
			k.Writer = afterwards(s, k.Writer, func(_ map[string]any, f status.Facts, _ status.Result) string {
				if f.Progress == status.Running {
					return `{"status":{"finishedAt":null}}`
				}
				return `{}`
			})
		}},
		"DropsOtherConditions": {"A list is one value of a merge patch.", []string{"OtherField"}, func(s *server, k *looseKindOf) {
			k.Writer = afterwards(s, k.Writer, func(_ map[string]any, _ status.Facts, result status.Result) string {
				if result == status.Merged {
					return `{"status":{"conditions":null}}`
				}
				return `{}`
			})
		}},
		"RetriesAConflict": {"RetryOnConflict with the same status.", []string{"SameField"}, func(_ *server, k *looseKindOf) {
			retryAfter(k, func(err error) bool { return errors.Is(err, status.ErrFieldConflict) })
		}},
		"RetriesAnOldGeneration": {"The retry has the newer generation.", []string{"Superseded"}, func(_ *server, k *looseKindOf) {
			retryAfter(k, func(err error) bool {
				return errors.Is(err, status.ErrSuperseded) && !errors.Is(err, status.ErrStaleRead)
			})
		}},
		"RetriesOnANewObject": {"The retry does not compare uids.", []string{"Recreated"}, func(_ *server, k *looseKindOf) {
			retryAfter(k, func(err error) bool { return errors.Is(err, status.ErrReplaced) })
		}},
		"RetriesAStaleCopy": {"The status of a stale copy replaces a newer one.", []string{"StaleCopy"}, func(_ *server, k *looseKindOf) {
			retryAfter(k, func(err error) bool { return errors.Is(err, status.ErrStaleRead) })
		}},
		"IsMadeInEachReconcile": {"Such a Writer remembers nothing.", []string{"Defaulted", "Pruned", "StaleCopy"}, func(s *server, k *looseKindOf) {
			k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
				return looseKind(s).Writer.Commit(ctx, before, after, f)
			})
		}},
		"HidesALostField": {"Nothing says that the CRD lacks the field.", []string{"Pruned"}, func(_ *server, k *looseKindOf) {
			good := k.Writer
			k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
				result, err := good.Commit(ctx, before, after, f)
				if result != "" && f.Progress == status.Running {
					return result, nil
				}
				return result, err
			})
		}},
		"TakesADefaultForAChange": {"A whole comparison differs forever.", []string{"Defaulted"}, func(s *server, k *looseKindOf) {
			good := k.Writer
			k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
				_, sets, _ := unstructured.NestedString(after.Object, "status", "mode")
				result, err := good.Commit(ctx, before, after, f)
				if result == status.Unchanged && !sets {
					_, err = s.patch(before.GetName(), []byte(`{"status":{"updatedAt":"2025-06-01T12:00:01Z"}}`), true)
				}
				return result, err
			})
		}},
		"HidesANull": {"The status stays old without an error.", []string{"Nullable"}, func(_ *server, k *looseKindOf) {
			good := k.Writer
			k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
				result, err := good.Commit(ctx, before, after, f)
				if apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueRequired) {
					return status.Unchanged, nil
				}
				return result, err
			})
		}},
		"LeavesOutZero": {"omitempty drops a required zero.", []string{"Required"}, func(_ *server, k *looseKindOf) {
			good := k.Writer
			k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
				total, _, _ := unstructured.NestedInt64(after.Object, "status", "total")
				if total == 0 {
					unstructured.RemoveNestedField(after.Object, "status", "total")
				}
				return good.Commit(ctx, before, after, f)
			})
		}},
		"LosesTheVerdict": {"The other libraries send all or nothing.", []string{"Refused"}, func(_ *server, k *looseKindOf) {
			good := k.Writer
			k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
				phase, _, _ := unstructured.NestedString(after.Object, "status", "phase")
				if len(phase) > 9 {
					return "", apierrors.NewRequestEntityTooLargeError(phase)
				}
				return good.Commit(ctx, before, after, f)
			})
		}},
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

// afterwards returns a Committer that sends the patch that change returns after
// a write.
func afterwards(s *server, good statustest.Committer, change func(o map[string]any, f status.Facts, result status.Result) string) wrapper {
	return func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
		result, err := good.Commit(ctx, before, after, f)
		if err != nil {
			return result, err
		}
		o, err := s.patch(before.GetName(), []byte(change(s.objects[before.GetName()], f, result)), true)
		if err == nil {
			after.Object = (&unstructured.Unstructured{Object: o}).DeepCopy().Object
		}
		return result, err
	}
}

// retryAfter makes the Writer commit again, from a new copy, after some errors.
func retryAfter(k *looseKindOf, retries func(error) bool) {
	good := k.Writer
	get := k.Get
	k.Writer = wrapper(func(ctx context.Context, before, after *unstructured.Unstructured, f status.Facts) (status.Result, error) {
		wanted := after.DeepCopy()
		result, err := good.Commit(ctx, before, after, f)
		if !retries(err) {
			return result, err
		}
		live, err := get(ctx, before)
		if err != nil {
			return "", err
		}
		next := live.DeepCopy()
		phase, _, _ := unstructured.NestedString(wanted.Object, "status", "phase")
		err = unstructured.SetNestedField(next.Object, phase, "status", "phase")
		if err != nil {
			return "", err
		}
		return good.Commit(ctx, live, next, f)
	})
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
