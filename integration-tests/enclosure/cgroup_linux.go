package enclosure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	hierarchies    = "/sys/fs/cgroup"
	subtreeControl = "cgroup.subtree_control"
)

// wanted lists the controllers that containers need.
var wanted = []string{"cpu", "cpuset", "memory", "pids"}

// MakeControlGroup creates a control group with this name for containers in every hierarchy, and
// returns its path there. The end of the run removes it.
func MakeControlGroup(name string) (string, error) {
	group := path.Join("/", filepath.Base(Dir()), name)
	if err := makeControlGroups(group); err != nil {
		return "", fmt.Errorf("make control group %s: %w", group, err)
	}
	return group, nil
}

// EndControlGroup kills all processes in the control group with this name and below it, also those
// that they start meanwhile.
func EndControlGroup(ctx context.Context, name string) error {
	group := filepath.Join(roots()[0], filepath.Base(Dir()), name)
	for {
		found, err := processesIn(group)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, process := range found {
			_ = syscall.Kill(process, syscall.SIGKILL) // it may have ended
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("end control group %s: %w", name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// processesIn returns the processes in a control group and below it.
func processesIn(group string) (found []int, err error) {
	err = filepath.WalkDir(group, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "cgroup.procs" {
			return gone(err)
		}
		content, err := os.ReadFile(path)
		for field := range strings.FieldsSeq(string(content)) {
			process, parsed := strconv.Atoi(field)
			if parsed != nil {
				return parsed
			}
			found = append(found, process)
		}
		return gone(err)
	})
	return found, err
}

// gone returns nil for an error that says that a control group is removed already.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	return err
}

// unified reports whether there is only one hierarchy (version 2).
func unified() bool {
	_, err := os.Stat(filepath.Join(hierarchies, "cgroup.controllers"))
	return err == nil
}

// roots returns the folder of each hierarchy.
func roots() (found []string) {
	if unified() {
		return []string{hierarchies}
	}
	files, _ := filepath.Glob(filepath.Join(hierarchies, "*", "cgroup.procs"))
	for _, file := range files {
		root := filepath.Dir(file)
		if info, err := os.Lstat(root); err == nil && info.IsDir() { // not a symbolic link to one
			found = append(found, root)
		}
	}
	return found
}

// makeControlGroups creates a control group in each hierarchy. Its parent must have the controllers
// enabled for its children.
func makeControlGroups(name string) error {
	all := roots()
	if len(all) == 0 {
		return fmt.Errorf("no hierarchy is at %s", hierarchies)
	}
	for _, root := range all {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			return err
		}
	}
	if !unified() {
		return nil
	}
	_, err := hand(filepath.Join(hierarchies, name))
	return err
}

// hand enables the controllers of a control group for its children (version 2), and returns those
// that were not enabled before.
func hand(group string) (handed []string, err error) {
	available, err := os.ReadFile(filepath.Join(group, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	given, err := os.ReadFile(filepath.Join(group, subtreeControl))
	if err != nil {
		return nil, err
	}
	for _, controller := range wanted {
		if !slices.Contains(strings.Fields(string(available)), controller) || slices.Contains(strings.Fields(string(given)), controller) {
			continue
		}
		if err := os.WriteFile(filepath.Join(group, subtreeControl), []byte("+"+controller), 0o644); err != nil {
			return handed, err
		}
		handed = append(handed, controller)
	}
	return handed, nil
}

// takeBack disables controllers that hand enabled. Controllers that other groups use now stay
// enabled.
func takeBack(group string, controllers []string) error {
	for _, controller := range controllers {
		err := os.WriteFile(filepath.Join(group, subtreeControl), []byte("-"+controller), 0o644)
		if err != nil && !errors.Is(err, syscall.EBUSY) {
			return err
		}
	}
	return nil
}

// removeControlGroups removes control groups and all groups below them, beginning with the lowest.
// Their processes have ended, but the kernel may need a moment to notice.
func removeControlGroups(name string) error {
	for _, root := range roots() {
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			err := removeTree(filepath.Join(root, name))
			if err == nil {
				break
			}
			if time.Now().After(end) {
				return err
			}
		}
	}
	return nil
}

func removeTree(group string) error {
	children, err := os.ReadDir(group)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, child := range children {
		if child.IsDir() {
			if err := removeTree(filepath.Join(group, child.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(group)
}
