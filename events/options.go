// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/proompteng/controllerkit/events/internal/caller"
)

// Options configure a [Recorder]. Set Scheme. Zero is the recommended behaviour
// of each other option, and a negative number is an error of [New].
type Options struct {
	// Instance becomes reportingInstance, cut to 128 bytes. Zero means the
	// hostname, which is the name of the pod, or "unknown" without one.
	Instance string
	// Scheme finds the kind of objects whose TypeMeta is empty. A
	// *runtime.Scheme fits, such as mgr.GetScheme() or scheme.Scheme of
	// client-go's kubernetes/scheme. Objects from informers and typed clients
	// carry no kind: without a Scheme no Event is written about them. RunWith
	// logs that it is not set, and each such event is counted as
	// LostNoReference.
	Scheme interface {
		ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error)
	}
	// Disabled drops every event before any work is done; nothing is counted.
	// Zero means enabled.
	Disabled bool
	// WritesPerMinute is the most requests about one object in any 60 seconds,
	// refused ones included: 1 to 6000. Zero means 5. About half of them may be
	// made in a burst, and the others follow later. A write that is tried in
	// both API groups counts as two.
	WritesPerMinute int
	// TotalWritesPerSecond bounds all requests, refused ones included, with a
	// burst of five seconds' worth. Zero means 20.
	TotalWritesPerSecond float64
	// MaxObjects bounds the objects that are remembered, and four times MaxObjects
	// their series. During an outage an object takes 1.2 KiB with one short note
	// that waits, 5 KiB with 8, and 80 KiB with 8 of 1 KiB and 8 annotations of
	// 1 KiB each. When MaxObjects is reached, the Recorder looks at 64 random
	// objects and evicts one about which no first Event waits. If it sees none,
	// it evicts one in a namespace whose requests fail, unless the new object is
	// in such a namespace too. The caps of an evicted object begin again, and
	// TotalWritesPerSecond holds. Zero means 8192.
	MaxObjects int
	// DrainTimeout is how long RunWith goes on writing what is pending after a
	// clean stop. Zero means 25s, which is less than the 30s that a pod has by
	// default. The time that a manager has for its stop comes in addition: both
	// together must be less than the pod's terminationGracePeriodSeconds.
	DrainTimeout time.Duration
	// Redact cleans every note, every annotation's value and the name of every
	// related object when they are recorded, once for a text, and errors of the
	// API server before they are logged. The caller waits for it. It must be
	// safe for concurrent use and is never called with more than 4 KiB. If it
	// panics, a line that reports this replaces the text. Reasons, actions and
	// keys are written unchanged. Zero means redact.Text. To mask what a
	// reconcile reads from Secrets as well, set the Redact method of a
	// redact.SecretValues.
	Redact func(string) string
	// OnResult, if set, is called with the number of occurrences that were
	// emitted, aggregated or dropped: ResultEmitted, ResultAggregated or
	// ResultDropped. The goroutine that records or writes calls it. It must not
	// block, and must be safe for concurrent use. It may call the Recorder. If
	// it panics, the Recorder goes on, and logs the first panic to klog. Zero
	// means no callback.
	OnResult func(result string, n int64)

	_ struct{} // keyed literals only
}

const maxWritesPerMinute = 6000

// complete replaces every zero by its default. It returns an error for each
// option that is out of range.
func (o *Options) complete() error {
	if o.Instance == "" {
		o.Instance, _ = os.Hostname()
	}
	o.Instance = cmp.Or(strings.ToValidUTF8(o.Instance[:min(len(o.Instance), caller.MaxName)], ""), "unknown")
	var tooMany error
	if o.WritesPerMinute > maxWritesPerMinute {
		tooMany = fmt.Errorf("events: Options.WritesPerMinute is %d; want at most %d",
			o.WritesPerMinute, maxWritesPerMinute)
	}
	return errors.Join(
		positive("WritesPerMinute", &o.WritesPerMinute, 5), tooMany,
		positive("TotalWritesPerSecond", &o.TotalWritesPerSecond, 20),
		positive("MaxObjects", &o.MaxObjects, 8192),
		positive("DrainTimeout", &o.DrainTimeout, 25*time.Second),
	)
}

// positive replaces a zero option by its default.
func positive[T int | float64 | time.Duration](name string, v *T, def T) error {
	if !(*v >= 0) { //nolint:staticcheck // NaN is not below 0
		return fmt.Errorf("events: Options.%s is %v; want a positive value, or zero for the default",
			name, *v)
	}
	*v = cmp.Or(*v, def)
	return nil
}

func checkController(name string) error {
	problems := validation.IsQualifiedName(name)
	if len(problems) == 0 {
		return nil
	}
	for i, p := range problems {
		problems[i], _, _ = strings.Cut(p, " (e.g. ") // there its regular expressions begin
	}
	return fmt.Errorf("events: controller name %q: %s; "+
		"want a qualified name such as agents.example.com/agentrun", name, strings.Join(problems, "; "))
}
