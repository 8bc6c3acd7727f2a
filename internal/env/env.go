// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package env reads settings from environment variables, by one set of rules
// for every package of this module.
//
// A variable that is unset, empty or blank yields the default. An empty name
// yields the default too, without a lookup. Any other value is accepted whole
// or is an error that names the variable and the accepted forms: `10m` never
// becomes 10, and `30d` never becomes 30.
package env

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Lookup reports the value of a variable and whether it is set, as os.LookupEnv
// does.
type Lookup func(name string) (value string, set bool)

// Error is a variable whose value was refused.
type Error struct {
	Name     string // the variable
	Value    string // what it held
	Accepted string // what it may hold
}

// Error names the variable, what it held and what it may hold.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %q is not accepted; want %s", e.Name, e.Value, e.Accepted)
}

// Bool reads a boolean: 1 t true yes on, 0 f false no off, in any case.
func Bool(lookup Lookup, name string, def bool) (bool, error) {
	v, ok := get(lookup, name)
	if !ok {
		return def, nil
	}
	switch strings.ToLower(v) {
	case "1", "t", "true", "yes", "on":
		return true, nil
	case "0", "f", "false", "no", "off":
		return false, nil
	}
	return def, &Error{name, v, "one of 1 t true yes on 0 f false no off"}
}

// Int reads a whole decimal number from lowest to highest.
func Int(lookup Lookup, name string, def, lowest, highest int) (int, error) {
	v, ok := get(lookup, name)
	if !ok {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < lowest || n > highest {
		return def, &Error{name, v, fmt.Sprintf("a whole number from %d to %d", lowest, highest)}
	}
	return n, nil
}

// Duration reads a duration that is not negative: a Go duration such as 10m or
// 1h30m, or whole seconds such as 600.
func Duration(lookup Lookup, name string, def time.Duration) (time.Duration, error) {
	v, ok := get(lookup, name)
	if !ok {
		return def, nil
	}
	const accepted = "whole seconds such as 600, or a Go duration such as 10m or 1h30m; not negative"
	refused := &Error{name, v, accepted}
	if s, err := strconv.ParseInt(v, 10, 64); err == nil {
		if s < 0 || s > math.MaxInt64/int64(time.Second) {
			return def, refused
		}
		return time.Duration(s) * time.Second, nil
	}
	if days, ok := strings.CutSuffix(v, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			refused.Accepted += fmt.Sprintf("; %s is %dh", v, 24*n)
		}
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return def, refused
	}
	return d, nil
}

// String reads a text without the blanks around it. The default is empty.
func String(lookup Lookup, name string) string {
	if v, ok := get(lookup, name); ok {
		return v
	}
	return ""
}

func get(lookup Lookup, name string) (string, bool) {
	if name == "" {
		return "", false
	}
	v, ok := lookup(name)
	v = strings.TrimSpace(v)
	return v, ok && v != ""
}
