// Command member is a small stateful application for the tests on real nodes. It serves on port 8080:
//
//	GET                /ready                      200 after its start, until SIGTERM
//	GET, POST, DELETE  /prepare-shutdown           returns whether it is prepared; prepares it; cancels that
//	GET, POST, DELETE  /prepare-delayed-downscale  the same, with the time since when it is ready to leave
//	POST               /crash                      ends at once with exit code 1
//	GET                /log                        the calls above that changed something, one per line:
//	                                               method, path and quoted Host
//	GET                /ask?url=URL                the answer of another member to this one
//	GET                /resolve?name=NAME          the addresses of a name in this pod, one per line
//
// Variables set its behavior: MEMBER_START and MEMBER_STOP are how long it takes to start and to stop
// (durations of Go). With MEMBER_BROKEN=true it ends at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const address = ":8080"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "member:", err)
		os.Exit(1)
	}
}

func run() error {
	if os.Getenv("MEMBER_BROKEN") == "true" {
		return errors.New("broken, as it was told to be")
	}
	start, err := duration("MEMBER_START")
	if err != nil {
		return err
	}
	stop, err := duration("MEMBER_STOP")
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	m := &member{}
	server := &http.Server{Addr: address, Handler: m.handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	time.AfterFunc(start, func() { m.ready.Store(true) })
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	m.ready.Store(false)
	time.Sleep(stop)
	return server.Close()
}

func duration(variable string) (time.Duration, error) {
	value := os.Getenv(variable)
	if value == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", variable, err)
	}
	return d, nil
}
