// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"

	"github.com/proompteng/controllerkit/internal/isolate"
)

// catch ends a panic of the caller's code, and stores it in err. of is what
// panicked. A function that calls such code defers it, and holds no lock.
func catch(of any, err *error) {
	p := recover()
	if p != nil {
		*err = fmt.Errorf("%T %w", of, isolate.Panicked(p))
	}
}

// withheld replaces a note whose arguments cannot be formatted.
const withheld = "[withheld: formatting the note panicked]"

// format is fmt.Sprintf. It also survives an argument that panics with a value
// whose own text panics.
func format(note string, args ...any) (text string) {
	defer func() {
		if recover() != nil {
			text = withheld
		}
	}()
	return fmt.Sprintf(note, args...)
}
