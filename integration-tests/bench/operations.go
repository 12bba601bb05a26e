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

// read returns what the process answers on a path of the listener that serves
// metrics and profiles.
func (p *process) read(ctx context.Context, path string) (string, error) {
	address, err := addressIn(p.log, listening)
	if err != nil {
		return "", err
	}
	if address == "" {
		return "", fmt.Errorf("read %s: %w", path, errSilent)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("read %s: %s", path, response.Status)
	}
	return string(text), nil
}
