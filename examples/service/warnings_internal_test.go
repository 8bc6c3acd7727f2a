// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWarningsOfTheAPIServer_AreMasked: the answer to the creation of a Job has
// warnings of a webhook that quotes credentials, and a usual one.
func TestWarningsOfTheAPIServer_AreMasked(t *testing.T) {
	const credential = "hV7kQ2mZx9Lp4TbW"
	hostile := []string{
		"env DB_PASSWORD=" + credential + " is in plain text",
		"the URL postgres://app:" + credential + "@db.example.com/app is deprecated",
		"header Authorization: Bearer " + credential + " is not allowed",
		`annotation {"apiKey":"` + credential + `"} is ignored`,
		"args [redis-cli -a " + credential + "] are deprecated",
		"statement ALTER USER app IDENTIFIED BY '" + credential + "' is deprecated",
		"unknown field in " + strings.Repeat("x ", 100) + "token=" + credential,
	}
	const usual = "batch/v1beta1 CronJob is deprecated in v1.21+; use batch/v1 CronJob"
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		for _, text := range hostile {
			a.warnings = append(a.warnings, "299 - "+strconv.Quote(text))
		}
		first, second := strconv.Quote(hostile[0]), strconv.Quote(usual)
		a.warnings = append(a.warnings,
			"299 webhook "+first+", 299 - "+second, // two in one header
			"299 - "+first[:len(first)-1],          // malformed
		)
		p := start(t, a)
		a.put(t, monthly, newReport())
		time.Sleep(time.Second)
		require.NotNil(t, a.report(t).Status.Job)
		require.NoError(t, p.end())
		log := p.log.String()
		assert.NotContains(t, log, credential)
		assert.Equal(t, strings.Count(log, usual)*(len(hostile)+1), strings.Count(log, "[redacted]"), log)
		assert.Contains(t, log, usual)
	})
}
