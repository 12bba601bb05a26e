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

// machine is what all processes share, whatever their namespaces: settings of the
// kernel by their files, and the control groups at the top.
type machine map[string]string

// restless settings change by themselves, or by being read.
var restless = []string{
	"/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/perf_event_max_sample_rate",
	"/proc/sys/kernel/random", "/proc/sys/vm/stat_refresh",
}

func lookAround() machine {
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

// readAll reads all settings below a folder that can be changed.
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

// compare says what is not as it was. Settings come with modules of the kernel, and
// are no change.
func (m machine) compare(now machine) error {
	var changes []error
	for _, what := range slices.Sorted(maps.Keys(now)) {
		was, known := m[what]
		if was != now[what] && (known || strings.HasPrefix(what, hierarchies)) {
			changes = append(changes, fmt.Errorf("the machine is not as it was: %s was %q and is %q", what, was, now[what]))
		}
	}
	return errors.Join(changes...)
}
