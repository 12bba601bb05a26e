package localcluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/wrongclock"
)

// OperatorOptions describe how to run the operator under test.
type OperatorOptions struct {
	// Kubeconfig is the path of its kubeconfig, usually from Cluster.ServiceAccountKubeconfig.
	// Required.
	Kubeconfig string

	// Args are further flags, after those of StartOperator for the kubeconfig, the log format and
	// the port. If a flag is given twice, the last one counts.
	Args []string

	// Env are variables ("NAME=value"). The operator inherits only PATH, so that the environment of
	// a developer does not change tests.
	Env []string

	// Log receives the output of the operator while it runs. It may be nil.
	Log io.Writer

	// Program is the path of the program. If it is empty, it is cmd/lockstep of this source tree,
	// built once for this process.
	Program string

	// StartTimeout is how long it may take to be ready; 2 minutes if it is zero.
	StartTimeout time.Duration
}

// Operator is a running operator: a separate process that ends with this one at the latest.
type Operator struct {
	process *process
	room    *room
	url     string
}

const operatorStartTimeout = 2 * time.Minute

// BuildOperator builds cmd/lockstep of this source tree and returns the path of the program, which
// exists until this process ends. It uses "go build" with the tag of make build, so that the
// results of other builds and tests are reused. Progress may be nil.
func BuildOperator(ctx context.Context, progress io.Writer) (string, error) {
	source, err := repositoryFolder()
	if err != nil {
		return "", err
	}
	return build(ctx, progress, source, "the operator", "lockstep", building{})
}

// BuildOperatorWithWrongClocks builds it with clocks that a variable of wrongclock.Clock can set
// wrong.
func BuildOperatorWithWrongClocks(ctx context.Context, progress io.Writer) (string, error) {
	source, err := repositoryFolder()
	if err != nil {
		return "", err
	}
	room, err := newRoom()
	if err != nil {
		return "", err
	}
	overlay, err := wrongclock.Overlay(ctx, room.dir)
	if err != nil {
		return "", errors.Join(err, room.remove())
	}
	program, err := build(ctx, progress, source, "the operator with wrong clocks", "lockstep", building{flags: []string{overlay}})
	return program, errors.Join(err, room.remove())
}

// BuildPlugin builds cmd/kubectl-lockstep in the same way.
func BuildPlugin(ctx context.Context, progress io.Writer) (string, error) {
	source, err := repositoryFolder()
	if err != nil {
		return "", err
	}
	return build(ctx, progress, source, "the plugin of kubectl", "kubectl-lockstep", building{})
}

// building describes how a build differs from the usual one.
type building struct {
	flags []string // of go build
	env   []string
}

// build builds a program of a source tree into a room of its own.
func build(ctx context.Context, progress io.Writer, source, what, name string, how building) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	room, err := newRoom()
	if err != nil {
		return "", err
	}
	program := room.path(name)
	show := startTask(progress, "building "+what)
	arguments := slices.Concat([]string{"build", "-v", "-tags=grpcnotrace", "-buildvcs=false", "-o", program}, how.flags, []string{"./cmd/" + name})
	err = runGo(ctx, source, arguments, how.env, show.step)
	show.end(err)
	if err != nil {
		return "", errors.Join(fmt.Errorf("build %s: %w", what, err), room.remove())
	}
	return program, nil
}

// builtOperator builds the operator once for this process.
var builtOperator = sync.OnceValues(func() (string, error) {
	return BuildOperator(context.Background(), os.Stderr)
})

// StartOperator starts the operator on a free port, with JSON logs, and returns when it answers on
// /ready. The error of a failed start contains its last log lines.
func StartOperator(ctx context.Context, options OperatorOptions) (_ *Operator, err error) {
	if options.Kubeconfig == "" {
		return nil, errors.New("start operator: OperatorOptions.Kubeconfig is empty, the path of a kubeconfig is needed")
	}
	if options.Program == "" {
		if options.Program, err = builtOperator(); err != nil {
			return nil, err
		}
	}
	room, err := newRoom()
	if err != nil {
		return nil, err
	}
	o := &Operator{room: room}
	if err := o.launch(ctx, options); err != nil {
		if o.process != nil {
			o.process.kill()
		}
		return nil, fmt.Errorf("start operator: %w", err)
	}
	return o, nil
}

func (o *Operator) launch(ctx context.Context, options OperatorOptions) error {
	limit := cmp.Or(options.StartTimeout, operatorStartTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready after %s", limit))
	defer cancel()
	log, err := os.Create(o.LogPath())
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	watch := &addressWatch{found: make(chan string, 1), out: log}
	if options.Log != nil {
		watch.out = io.MultiWriter(log, options.Log)
	}
	o.process, err = startProcess(command{
		name:    "operator",
		program: options.Program,
		args: slices.Concat([]string{
			"-kubernetes.config-file=" + options.Kubeconfig, "-server.port=0", "-log.format=json",
		}, options.Args),
		env:     append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.room.dir, "TMPDIR=" + o.room.dir}, options.Env...),
		logPath: o.LogPath(),
		watch:   watch,
	})
	if err != nil {
		return err
	}
	go func() {
		<-o.process.exited
		log.Close()
	}()
	return o.awaitReady(ctx, watch)
}

func (o *Operator) awaitReady(ctx context.Context, watch *addressWatch) error {
	listening := func() bool {
		select {
		case address := <-watch.found:
			o.url = "http://" + address
		default:
		}
		return o.url != ""
	}
	if err := poll(ctx, `the operator's log line with "msg":"listening"`, listening, o.process); err != nil {
		return err
	}
	ready := func() bool { return Answers(ctx, o.url+"/ready") }
	return poll(ctx, o.url+"/ready", ready, o.process)
}

// URL returns the address of metrics and health, "http://127.0.0.1:PORT".
func (o *Operator) URL() string { return o.url }

// PID returns the process number.
func (o *Operator) PID() int { return o.process.cmd.Process.Pid }

// LogPath returns the path of the operator's output. The file exists until this process ends.
func (o *Operator) LogPath() string { return o.room.path("operator.log") }

// Logs returns the operator's output so far.
func (o *Operator) Logs() string {
	content, err := os.ReadFile(o.LogPath())
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(content)
}

// Exited returns a channel that is closed when the process has ended, for any reason.
func (o *Operator) Exited() <-chan struct{} { return o.process.exited }

// ExitCode returns the exit code of the process: -1 after a signal, and while it runs.
func (o *Operator) ExitCode() int {
	if !o.process.ended() {
		return -1
	}
	return o.process.cmd.ProcessState.ExitCode()
}

// Signal sends a signal. If the process has ended, it does nothing.
func (o *Operator) Signal(s os.Signal) error { return o.process.signal(s) }

// Kill ends the operator like a crash (SIGKILL) and waits until it has ended.
func (o *Operator) Kill() { o.process.kill() }

// Stop sends SIGTERM to the operator, waits for its end and returns its exit code. If ctx ends
// first, Stop kills the operator and returns an error.
func (o *Operator) Stop(ctx context.Context) (int, error) {
	if err := o.Signal(syscall.SIGTERM); err != nil {
		return -1, err
	}
	select {
	case <-o.process.exited:
		return o.ExitCode(), nil
	case <-ctx.Done():
		o.Kill()
		return -1, o.process.withLog(fmt.Errorf("stop operator: still running: %w", context.Cause(ctx)))
	}
}

// Answers reports whether a server answers a GET of the URL with 200 within a second.
func Answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// addressWatch forwards all output and searches for the first line with the operator's address:
// {"msg":"listening","address":"127.0.0.1:8001"}.
type addressWatch struct {
	out   io.Writer
	found chan string

	done bool
	line []byte // an incomplete line
}

func (w *addressWatch) Write(p []byte) (int, error) {
	if !w.done {
		w.scan(p)
	}
	return w.out.Write(p)
}

func (w *addressWatch) scan(p []byte) {
	w.line = append(w.line, p...)
	for !w.done {
		line, rest, complete := bytes.Cut(w.line, []byte("\n"))
		if !complete {
			return
		}
		w.line = rest
		if address, ok := listeningAddress(line); ok {
			w.found <- address
			w.done, w.line = true, nil
		}
	}
}

func listeningAddress(line []byte) (string, bool) {
	var entry struct{ Msg, Address string }
	if json.Unmarshal(line, &entry) != nil || entry.Msg != "listening" {
		return "", false
	}
	host, port, err := net.SplitHostPort(entry.Address)
	if err != nil {
		return "", false
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), true
}
