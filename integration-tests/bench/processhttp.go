package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// errNoAddress means that a process does not log the address of its metrics and profiles.
var errNoAddress = errors.New("the process does not log the address of its metrics as lockstep does")

// reply is an answer of a process's listener for metrics and profiles.
type reply struct {
	code int
	text string
}

// get sends a request to the process's listener for metrics and profiles.
func (p *process) get(ctx context.Context, path string) (reply, error) {
	return p.getAs(ctx, path, "*/*")
}

// getAs is get with an Accept header.
func (p *process) getAs(ctx context.Context, path, accept string) (reply, error) {
	address, err := addressIn(p.log, listening)
	if err != nil {
		return reply{}, err
	}
	if address == "" {
		return reply{}, fmt.Errorf("read %s: %w", path, errNoAddress)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{}, fmt.Errorf("read %s: %w", path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, fmt.Errorf("read %s: %w", path, err)
	}
	return reply{response.StatusCode, string(text)}, nil
}

// read returns the body of the answer, and an error if the code is not 200.
func (p *process) read(ctx context.Context, path string) (string, error) {
	got, err := p.get(ctx, path)
	if err == nil && got.code != http.StatusOK {
		err = fmt.Errorf("read %s: %d %s", path, got.code, http.StatusText(got.code))
	}
	return got.text, err
}
