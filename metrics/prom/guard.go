// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import "fmt"

// guarded keeps a gatherer that panics from aborting the scrape.
func guarded[F any](gather func() (F, error)) func() (F, error) {
	return func() (families F, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("prom: a gatherer of Options.Also panicked with a %T", v)
			}
		}()
		return gather()
	}
}

// errorLog hands promhttp's errors on. A nil one is silent.
type errorLog func(error)

func (l errorLog) Println(v ...any) {
	if l == nil {
		return
	}
	for _, x := range v {
		if err, ok := x.(error); ok {
			l(err)
			return
		}
	}
	l(fmt.Errorf("prom: %s", fmt.Sprint(v...)))
}
