package wrongclock

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bent is a file of package time in such a program.
//
//go:embed bent.go.txt
var bent []byte

// edit is a change in a file of package time in such a program.
type edit struct {
	file, old, new string
	times          int
}

var edits = []edit{
	{"time.go", "sec, nsec, mono := runtimeNow()", "sec, nsec, mono := bentNow()", 1},
	{"time.go", "runtimeNano()-startNano", "bentNano()-startNano", 2},
	{"sleep.go", "runtimeNano() + int64(d)", "runtimeNano() + bentTimer(d)", 1},
}

// Overlay writes the files for "go build -overlay" into a folder, and returns the flag. If this
// version of Go implements time differently, it returns an error.
func Overlay(ctx context.Context, dir string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find Go's source: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	texts := map[string]string{}
	for _, e := range edits {
		if err := e.apply(source, texts); err != nil {
			return "", fmt.Errorf("bend package time: %w", err)
		}
	}
	texts["bent.go"] = string(bent)
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range texts {
		path := filepath.Join(dir, name)
		overlay.Replace[filepath.Join(source, name)] = path
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("bend package time: %w", err)
		}
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", fmt.Errorf("bend package time: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("bend package time: %w", err)
	}
	return "-overlay=" + path, nil
}

func (e edit) apply(source string, texts map[string]string) error {
	if texts[e.file] == "" {
		text, err := os.ReadFile(filepath.Join(source, e.file))
		if err != nil {
			return err
		}
		texts[e.file] = string(text)
	}
	if got := strings.Count(texts[e.file], e.old); got != e.times {
		return fmt.Errorf("%s has %q %d times, want %d", filepath.Join(source, e.file), e.old, got, e.times)
	}
	texts[e.file] = strings.ReplaceAll(texts[e.file], e.old, e.new)
	return nil
}
