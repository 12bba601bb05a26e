package enclosure

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const hierarchies = "/sys/fs/cgroup"

// wanted are the controllers that containers are given to.
var wanted = []string{"cpu", "cpuset", "memory", "pids"}

// unified tells whether there is but one hierarchy (version 2).
func unified() bool {
	_, err := os.Stat(filepath.Join(hierarchies, "cgroup.controllers"))
	return err == nil
}

// makeControlGroups makes a control group for the containers of a run. With version 1
// they make it themselves, one in each hierarchy.
func makeControlGroups(name string) error {
	if !unified() {
		return nil
	}
	group := filepath.Join(hierarchies, name)
	if err := hand(hierarchies); err != nil {
		return err
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		return err
	}
	return hand(group)
}

// hand lets the children of a control group have the controllers that it has itself.
func hand(group string) error {
	available, err := os.ReadFile(filepath.Join(group, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(available)) {
		if !slices.Contains(wanted, controller) {
			continue
		}
		if err := os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeControlGroups removes the control groups of a run, from the leaves on. Nobody
// is in them any more.
func removeControlGroups(name string) {
	roots, _ := filepath.Glob(filepath.Join(hierarchies, "*", name))
	for _, root := range append(roots, filepath.Join(hierarchies, name)) {
		var groups []string
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case entry.IsDir():
				groups = append(groups, path)
			}
			return nil
		})
		for _, group := range slices.Backward(groups) {
			_ = os.Remove(group) // what does not go is swept by the next run
		}
	}
}
