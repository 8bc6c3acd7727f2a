// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Retarget returns a copy of h that scales the workload of the same name and of
// kind to. Retarget the one there is: two over the same pods both stop. A nil h
// gives nil.
func Retarget(h *autoscalingv2.HorizontalPodAutoscaler, to schema.GroupVersionKind) *autoscalingv2.HorizontalPodAutoscaler {
	if h == nil {
		return nil
	}
	h = h.DeepCopy()
	h.Spec.ScaleTargetRef.APIVersion, h.Spec.ScaleTargetRef.Kind = to.ToAPIVersionAndKind()
	return h
}

// noneUnavailable refuses maxUnavailable above 0 for an adoption, in which both
// controllers use it. Both round a percentage of maxUnavailable down and of
// maxSurge up, take 25% for unset, and remove one pod if both are 0.
func (b *builder) noneUnavailable(surge, unavailable *intstr.IntOrString, n int32, path *field.Path) {
	more, ok := resolve(surge, n, math.Ceil)
	missing, also := resolve(unavailable, n, math.Floor)
	if !ok || !also {
		b.add(field.Invalid(path, bound(unavailable), "must be, as maxSurge must, a whole number or a percentage"))
		return
	}
	if more == 0 && missing == 0 {
		missing = 1
	}
	if missing > 0 && n > 0 {
		b.add(field.Invalid(path, bound(unavailable),
			fmt.Sprintf("lets %d of %d pods be missing while they change hands; set 0, with maxSurge 1, or use the method SideBySide", missing, n)))
	}
}

func resolve(v *intstr.IntOrString, n int32, round func(float64) float64) (int32, bool) {
	if v == nil {
		v = ptr.To(intstr.FromString("25%"))
	}
	if v.Type == intstr.Int {
		return v.IntVal, v.IntVal >= 0
	}
	digits, signed := strings.CutSuffix(v.StrVal, "%")
	percent, err := strconv.ParseUint(digits, 10, 31)
	return int32(round(float64(percent) * float64(n) / 100)), signed && err == nil
}

func bound(v *intstr.IntOrString) string {
	if v == nil {
		return "25% (the default)"
	}
	return v.String()
}

func equalSelectors(a, b *metav1.LabelSelector) bool {
	if a == nil || b == nil {
		return a == b
	}
	return maps.Equal(a.MatchLabels, b.MatchLabels) && equality.Semantic.DeepEqual(a.MatchExpressions, b.MatchExpressions)
}
