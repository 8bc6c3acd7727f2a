// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// unusedAfter is how long an unused entry of the cache stays. Entries are
// large.
const unusedAfter = 30 * 24 * time.Hour

// entry is one directory of the cache: all programs of one set of inputs.
type entry struct {
	dir    string
	source string
	flags  map[string][]string // arguments of go build, by build module
}

// openEntry finds the entry of the given build modules in source, without
// creating it.
func openEntry(ctx context.Context, source string, modules []string) (*entry, error) {
	source, err := locate(ctx, source)
	if err != nil {
		return nil, err
	}
	root, err := cacheRoot()
	if err != nil {
		return nil, err
	}
	e := &entry{source: source, flags: map[string][]string{}}
	in := inputs{platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, name := range modules {
		m, err := readModule(source, name)
		if err != nil {
			return nil, err
		}
		if m.goVersion, err = goCommand(ctx, m.dir, "env", "GOVERSION"); err != nil {
			return nil, err
		}
		e.flags[name] = m.flags()
		in.modules = append(in.modules, m)
	}
	e.dir = filepath.Join(root, "controlplane", in.key())
	return e, nil
}

// inputs identify the programs of an entry.
type inputs struct {
	modules  []module
	platform string
}

// key names the entry. Equal inputs have equal keys. Each part is written with
// its length, so that different inputs never have the same bytes.
func (in inputs) key() string {
	h := sha256.New()
	part := func(b []byte) { _, _ = fmt.Fprintf(h, "%d:%s", len(b), b) }
	part([]byte(in.platform))
	for _, m := range in.modules {
		part([]byte(m.goVersion))
		part(m.mod)
		part(m.sum)
		for _, source := range m.sources {
			part(source)
		}
		for _, f := range append(environment(), m.flags()...) {
			part([]byte(f))
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// cacheRoot returns the directory of all entries.
func cacheRoot() (string, error) {
	if root := os.Getenv("CONTROLLERKIT_CACHE"); root != "" {
		return filepath.Abs(root)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("build: no cache directory: %w; name one in CONTROLLERKIT_CACHE", err)
	}
	return filepath.Join(dir, "controllerkit"), nil
}

// path returns the path of a program in the entry.
func (e *entry) path(p program) string { return filepath.Join(e.dir, p.name) }

// lacks returns the programs of wanted that the entry does not have.
func (e *entry) lacks(wanted []program) []program {
	var missing []program
	for _, p := range wanted {
		if !executable(e.path(p)) {
			missing = append(missing, p)
		}
	}
	return missing
}

// touch marks the entry as used. It fails in a read-only cache, which is not
// pruned either.
func (e *entry) touch() {
	now := time.Now()
	_ = os.Chtimes(e.dir, now, now)
}

// prune removes other entries that were not used for unusedAfter.
func (e *entry) prune() error {
	root := filepath.Dir(e.dir)
	others, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, other := range others {
		info, err := other.Info()
		if err != nil || !other.IsDir() || other.Name() == filepath.Base(e.dir) {
			continue
		}
		if time.Since(info.ModTime()) < unusedAfter {
			continue
		}
		if err := os.RemoveAll(filepath.Join(root, other.Name())); err != nil {
			return err
		}
	}
	return nil
}
