// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// EncodeTSV returns rows in the format of results.tsv, with the names of the
// columns in the first line.
func EncodeTSV(rows []Row) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Comma = '\t'
	all := [][]string{strings.Fields(columns)}
	for _, r := range rows {
		all = append(all, r.cells())
	}
	_ = w.WriteAll(all) // the Builder returns no error
	return b.String()
}

// DecodeTSV reads the format of EncodeTSV. An empty text has no rows.
func DecodeTSV(text string) (rows []Row, err error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = '\t'
	all, err := r.ReadAll()
	if err == nil && len(all) > 0 && strings.Join(all[0], " ") != columns {
		err = errors.New("the columns are not " + columns)
	}
	if err != nil {
		return nil, fmt.Errorf("bench: results.tsv: %w", err)
	}
	for _, c := range all[min(1, len(all)):] {
		rows = append(rows, Row{c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8]})
	}
	return rows, nil
}

// Merge replaces the rows of pkg in old with fresh, and keeps the packages in
// alphabetical order.
func Merge(old []Row, pkg string, fresh []Row) []Row {
	out := slices.DeleteFunc(slices.Clone(old), func(r Row) bool { return r.Package == pkg })
	out = append(out, fresh...)
	slices.SortStableFunc(out, func(a, b Row) int { return strings.Compare(a.Package, b.Package) })
	return out
}
