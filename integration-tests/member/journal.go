package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// journal is a file with values by their keys, one per line. A value never changes.
type journal struct {
	mu     sync.Mutex
	file   *os.File
	values map[string]string // those that are on the disk
}

// openJournal opens the journal in a folder, or creates it there. The folder keeps the name of the
// member for which it was created, and no other member may use it.
func openJournal(folder, member string) (*journal, error) {
	if err := claim(folder, member); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "journal")
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	j := &journal{}
	if j.values, err = parse(string(content)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	complete := int64(bytes.LastIndexByte(content, '\n') + 1) // a crash may leave a part of a line
	if err := j.file.Truncate(complete); err != nil {
		return nil, err
	}
	_, err = j.file.Seek(complete, 0)
	return j, err
}

// claim writes the name of a member into its folder, or compares it with the name there.
func claim(folder, member string) error {
	path := filepath.Join(folder, "name")
	switch owner, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
		return os.WriteFile(path, []byte(member), 0o600)
	case err != nil:
		return err
	case string(owner) != member:
		return fmt.Errorf("the data in %s belongs to %s, not to %s", folder, owner, member)
	}
	return nil
}

// parse reads the lines "key value" of a text. It ignores an incomplete last line.
func parse(text string) (map[string]string, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		key, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		values[key] = value
	}
	return values, nil
}

// format returns the lines that parse reads.
func format(values map[string]string) string {
	var text strings.Builder
	for key, value := range values {
		fmt.Fprintf(&text, "%s %q\n", key, value)
	}
	return text.String()
}

var errOtherValue = errors.New("the key has another value")

// add returns when the disk has these values. Keys that have them already are left out.
func (j *journal) add(values map[string]string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	added := map[string]string{}
	for key, value := range values {
		switch present, has := j.values[key]; {
		case !has:
			added[key] = value
		case present != value:
			return fmt.Errorf("%s: %w", key, errOtherValue)
		}
	}
	if len(added) == 0 {
		return nil
	}
	if _, err := j.file.WriteString(format(added)); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	maps.Copy(j.values, added)
	return nil
}

// get returns the value of a key.
func (j *journal) get(key string) (string, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	value, has := j.values[key]
	return value, has
}

// all returns all values by their keys.
func (j *journal) all() map[string]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.values)
}
