package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// maxFileSize is the maximum size of a file, in bytes.
const maxFileSize = 32 << 20

// readSnapshot reads a snapshot from a file, or from the standard input if name is -.
func (a *app) readSnapshot(name string) (group.Snapshot, error) {
	in := a.streams.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return group.Snapshot{}, err
		}
		defer func() { _ = file.Close() }() // nothing was written
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxFileSize+1))
	switch {
	case err != nil:
		return group.Snapshot{}, fmt.Errorf("read %s: %w", name, err)
	case len(text) > maxFileSize:
		return group.Snapshot{}, fmt.Errorf("read %s: it has more than %d bytes, so it is not a snapshot", name, maxFileSize)
	}
	s, err := parseSnapshot(text)
	if err != nil {
		return s, fmt.Errorf("read %s: %w\naccepted: what kubectl lockstep snapshot prints, as text or as JSON, and what the operator's /debug/groups/NAMESPACE/GROUP answers", name, err)
	}
	return s, nil
}

func parseSnapshot(text []byte) (group.Snapshot, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return group.Snapshot{}, errors.New("it is empty")
	}
	if text[0] != '{' {
		scenario, err := fixture.Parse(string(text))
		return scenario.Snapshot, err
	}
	var record struct { // the format of /debug/groups
		Snapshot json.RawMessage `json:"snapshot"`
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return group.Snapshot{}, err
	}
	if record.Snapshot != nil {
		text = record.Snapshot
	}
	var s group.Snapshot
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&s)
	return s, err
}
