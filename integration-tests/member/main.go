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
//	GET                /version                    the version of the program
//
// Variables set its behavior: MEMBER_START and MEMBER_STOP are how long it takes to start and to stop
// (durations of Go). With MEMBER_BROKEN=true it ends at once.
//
// With MEMBER_DATA, a folder, it is a member of a store that keeps three copies of each value. It
// finds the other members by MEMBER_SERVICE, the DNS name of a headless Service, and is ready when it
// has taken from them what it should have. A key gets its value once and for ever:
//
//	PUT, GET  /values/KEY  200 once two members have it on their disks; the value, wherever it is
//	PUT, GET  /copies/KEY  the same, on this member alone
//	GET       /copies      all values of this member, one per line: the key and the quoted value
//	POST      /pull        takes from all members what it lacks, and returns their names, one per line
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

// version is set by the linker for an image with another version.
var version = "first"

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
	if m.store, err = openStore(); err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: m.handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	time.AfterFunc(start, func() { m.serves(ctx) })
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	m.ready.Store(false)
	time.Sleep(stop)
	return server.Close()
}

// openStore opens the store that the variables ask for; nil if they ask for none.
func openStore() (*store, error) {
	folder := os.Getenv("MEMBER_DATA")
	if folder == "" {
		return nil, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	j, err := openJournal(folder, name)
	if err != nil {
		return nil, err
	}
	return &store{name: name, journal: j, others: findOthers(os.Getenv("MEMBER_SERVICE"), name)}, nil
}

// serves makes a member ready that has started, until ctx ends.
func (m *member) serves(ctx context.Context) {
	if m.store == nil {
		m.ready.Store(ctx.Err() == nil)
		return
	}
	m.store.run(ctx, func() { m.ready.Store(ctx.Err() == nil) })
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
