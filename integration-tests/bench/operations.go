package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// errSilent says that a process does not tell where it serves metrics and profiles.
var errSilent = errors.New("it does not log where it serves metrics, as lockstep does")

// said is what a process says on the listener for metrics and profiles.
type said struct {
	code int
	text string
}

// get asks the listener of the process for metrics and profiles.
func (p *process) get(ctx context.Context, path string) (said, error) {
	return p.getAs(ctx, path, "*/*")
}

// getAs asks for an answer of some kind.
func (p *process) getAs(ctx context.Context, path, accept string) (said, error) {
	address, err := addressIn(p.log, listening)
	if err != nil {
		return said{}, err
	}
	if address == "" {
		return said{}, fmt.Errorf("read %s: %w", path, errSilent)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return said{}, err
	}
	r.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return said{}, fmt.Errorf("read %s: %w", path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return said{}, fmt.Errorf("read %s: %w", path, err)
	}
	return said{response.StatusCode, string(text)}, nil
}

// read returns what there is on a path.
func (p *process) read(ctx context.Context, path string) (string, error) {
	got, err := p.get(ctx, path)
	if err == nil && got.code != http.StatusOK {
		err = fmt.Errorf("read %s: %d %s", path, got.code, http.StatusText(got.code))
	}
	return got.text, err
}
