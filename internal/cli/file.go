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

// readFile reads a file, or the standard input if name is -.
func (a *app) readFile(name string) ([]byte, error) {
	in := a.streams.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // nothing was written
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxFileSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(text) > maxFileSize:
		return nil, fmt.Errorf("read %s: it has more than %d bytes, so it is not a snapshot", name, maxFileSize)
	}
	return text, nil
}

// planFile shows the plan for the snapshot in a file, of a group or a StatefulCluster.
func (a *app) planFile(name string) error {
	text, err := a.readFile(name)
	if err != nil {
		return err
	}
	if s, is := parsePoolSnapshot(text); is {
		return a.showPlanOfPool(s)
	}
	s, err := parseSnapshot(text)
	if err != nil {
		return fmt.Errorf("read %s: %w\naccepted: what kubectl lockstep snapshot prints, as text or as JSON, and what the operator's /debug/groups/NAMESPACE/GROUP answers", name, err)
	}
	return a.planGroup(s)
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
