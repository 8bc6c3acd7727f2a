// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
)

// overlay has texts that the compiler reads in place of files.
type overlay struct {
	work    string            // the folder of the texts
	replace map[string]string // the text's path by the file's
}

func newOverlay(work string) overlay { return overlay{work, map[string]string{}} }

// put replaces the text of a file, which need not exist.
func (o overlay) put(path, text string) error {
	copied := filepath.Join(o.work, strconv.Itoa(len(o.replace))+".go")
	o.replace[path] = copied
	return os.WriteFile(copied, []byte(text), 0o600)
}

// list writes the file that go build's -overlay takes, and returns its path.
func (o overlay) list() (string, error) {
	text, err := json.Marshal(map[string]any{"Replace": o.replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(o.work, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}
