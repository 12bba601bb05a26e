package enclosure

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// machine is the state that all processes share despite their namespaces: kernel settings by their
// files, and the top-level control groups.
type machine map[string]string

// restless lists settings that change by themselves, or when they are read.
var restless = []string{
	"/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/perf_event_max_sample_rate",
	"/proc/sys/kernel/random", "/proc/sys/vm/stat_refresh",
}

func readMachine() machine {
	seen := machine{}
	for _, area := range []string{"fs", "kernel", "net/netfilter", "vm"} {
		seen.readAll(filepath.Join("/proc/sys", area))
	}
	for _, root := range roots() {
		seen.read(filepath.Join(root, subtreeControl))
		groups, _ := os.ReadDir(root)
		for _, group := range groups {
			if group.IsDir() && !strings.HasPrefix(group.Name(), prefix) {
				seen[filepath.Join(root, group.Name())] = "there"
			}
		}
	}
	return seen
}

// readAll reads all writable settings below a folder.
func (m machine) readAll(folder string) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || slices.Contains(restless, path) {
			return skip(entry)
		}
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o600 == 0o600 {
			m.read(path)
		}
		return nil
	})
}

func skip(entry fs.DirEntry) error {
	if entry != nil && entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (m machine) read(file string) {
	if content, err := os.ReadFile(file); err == nil {
		m[file] = strings.TrimSpace(string(content))
	}
}

// compare returns the differences. New settings are no difference, because kernel modules add them.
func (m machine) compare(now machine) error {
	var changes []error
	for _, what := range slices.Sorted(maps.Keys(now)) {
		was, known := m[what]
		if was != now[what] && (known || strings.HasPrefix(what, hierarchies)) {
			changes = append(changes, fmt.Errorf("the machine was changed: %s was %q and is %q", what, was, now[what]))
		}
	}
	return errors.Join(changes...)
}
