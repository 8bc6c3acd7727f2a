// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/proompteng/controllerkit/events/redact"
)

// Options configure a [Recorder]. The zero value is the recommended behaviour; a negative number is an error of [New].
type Options struct {
	// Instance becomes reportingInstance, cut to 128 bytes. Zero means the hostname, which is the name of the pod.
	Instance string
	// Scheme finds the kind of objects whose TypeMeta is empty; a *runtime.Scheme fits, such as mgr.GetScheme() or that of
	// client-go's kubernetes/scheme. Objects from informers and typed clients carry no kind: without a Scheme no Event is
	// written about them, and each is counted as LostNoReference.
	Scheme interface {
		ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error)
	}
	// Disabled drops every event before any work is done; nothing is counted. Zero means enabled.
	Disabled bool
	// PerMinute is the most writes about one object in any 60 seconds, new Events and updates of a series together, up to
	// 6000. Zero means 5. It is a true bound, so a burst is (n+2)/2 writes; the others follow as tokens come back.
	PerMinute int
	// TotalPerSecond bounds all writes, with a burst of five seconds' worth; first occurrences go before updates. Zero means 20.
	TotalPerSecond float64
	// MaxObjects bounds the objects that are remembered, about 0.4 KiB each, the least recently used leave first. Zero
	// means 8192. An object that left starts over, but under TotalPerSecond: eviction cannot turn into a storm.
	MaxObjects int
	// MaxReasons bounds the series that are remembered for an object. Zero means 8.
	MaxReasons int
	// Quiet is the longest pause between two updates of an unchanged series; pauses double from 60s/PerMinute up to it. Zero
	// means 10m. It must stay below the API server's --event-ttl, or a failure that goes on disappears.
	Quiet time.Duration
	// MaxAge is how long the write of an Event is tried again, counted from its first attempt; what is first tried while another one
	// waits to be tried again does not age. Zero means 5m. A write that is denied, or that no group serves, is tried for 15 seconds,
	// since an API server that comes up knows no roles for a moment; an invalid one once.
	MaxAge time.Duration
	// Grace is how long Start goes on writing what is pending when its context has ended. Zero means 25s, which is less than
	// the 30s that a pod has by default.
	Grace time.Duration
	// Redact cleans every note, every annotation's value and the name of every related object; it must be safe for concurrent
	// use and is never given more than 4 KiB. Zero means redact.Text. To mask what a reconcile reads from Secrets as
	// well, set the Redact method of a redact.SecretValues.
	Redact func(string) string
	// Namespace holds the Events of cluster-scoped objects: "default" or "kube-system", the API server takes no other. Zero
	// means "default".
	Namespace string
	// Observe hears how many occurrences met which fate: FateEmitted, FateAggregated or FateDropped. It must not block. Zero
	// means that nobody listens.
	Observe func(fate string, n int64)

	_ struct{} // keyed literals only
}

// The API server's own limits: pkg/apis/core/validation/events.go.
const (
	maxInstance = 128
	maxReason   = 128
	maxAction   = 128
)

// check returns all that is out of range.
func (o Options) check() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value any
		ok    bool
	}{
		{"PerMinute", o.PerMinute, o.PerMinute >= 0},
		{"TotalPerSecond", o.TotalPerSecond, o.TotalPerSecond >= 0},
		{"MaxObjects", o.MaxObjects, o.MaxObjects >= 0},
		{"MaxReasons", o.MaxReasons, o.MaxReasons >= 0},
		{"Quiet", o.Quiet, o.Quiet >= 0},
		{"MaxAge", o.MaxAge, o.MaxAge >= 0},
		{"Grace", o.Grace, o.Grace >= 0},
	} {
		if !f.ok {
			errs = append(errs, fmt.Errorf("events: Options.%s is %v; want a positive value, or zero for the default", f.name, f.value))
		}
	}
	if o.PerMinute > maxPerMinute {
		errs = append(errs, fmt.Errorf("events: Options.PerMinute is %d; want at most %d", o.PerMinute, maxPerMinute))
	}
	if o.Namespace != "" && o.Namespace != "default" && o.Namespace != "kube-system" {
		errs = append(errs, fmt.Errorf("events: Options.Namespace is %q; want \"default\" or \"kube-system\"", o.Namespace))
	}
	return errors.Join(errs...)
}

// resolved returns o with every zero replaced by its default.
func (o Options) resolved() Options {
	if absent(o.Scheme) {
		o.Scheme = nil
	}
	if o.Instance == "" {
		o.Instance, _ = os.Hostname()
	}
	o.Instance = cut(o.Instance, maxInstance)
	if o.Instance == "" {
		o.Instance = "unknown"
	}
	o.PerMinute = or(o.PerMinute, 5)
	o.TotalPerSecond = or(o.TotalPerSecond, 20)
	o.MaxObjects = or(o.MaxObjects, 8192)
	o.MaxReasons = or(o.MaxReasons, 8)
	o.Quiet = or(o.Quiet, 10*time.Minute)
	o.MaxAge = or(o.MaxAge, 5*time.Minute)
	o.Grace = or(o.Grace, 25*time.Second)
	o.Namespace = or(o.Namespace, "default")
	if o.Redact == nil {
		o.Redact = redact.Text
	}
	return o
}

func checkController(name string) error {
	if name == "" {
		return errors.New("events: the controller has no name; want a qualified name such as agents.example.com/agentrun")
	}
	problems := validation.IsQualifiedName(name)
	if len(problems) == 0 {
		return nil
	}
	for i, p := range problems {
		problems[i], _, _ = strings.Cut(p, " (e.g. ") // there its regular expressions begin
	}
	return fmt.Errorf("events: controller name %q: %s; want a qualified name such as agents.example.com/agentrun",
		name, strings.Join(problems, "; "))
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// cut returns at most n bytes of s and never half a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
