package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// jaegerModule is the module that the folder .tools/jaeger pins.
const jaegerModule = "github.com/jaegertracing/jaeger"

// JaegerProgram returns the path of Jaeger in the user's cache. If Jaeger is missing, it is built,
// which takes minutes. Progress may be nil.
func JaegerProgram(ctx context.Context, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	const name = "all-in-one"
	shelf, err := openShelf("jaeger", jaegerModule, map[string]string{name: jaegerModule + "/cmd/all-in-one"}, ".tools", "jaeger")
	if err != nil {
		return "", err
	}
	shelf.title = fmt.Sprintf("building Jaeger %s (once, 2 to 5 minutes on 2 cores)", shelf.versions[jaegerModule])
	if err := shelf.fill(ctx, []string{name}, progress); err != nil {
		return "", fmt.Errorf("build Jaeger: %w", err)
	}
	return shelf.path(name), nil
}

// Jaeger is a running Jaeger that keeps traces in memory. It ends with this process at the latest.
type Jaeger struct {
	process *process
	room    *room
	otlp    string
	query   string
}

const jaegerStartTimeout = 2 * time.Minute

// StartJaeger starts Jaeger on free ports and returns when it answers.
func StartJaeger(ctx context.Context, progress io.Writer) (*Jaeger, error) {
	program, err := JaegerProgram(ctx, progress)
	if err != nil {
		return nil, err
	}
	room, err := newRoom()
	if err != nil {
		return nil, err
	}
	j := &Jaeger{room: room}
	if err := j.launch(ctx, program); err != nil {
		return nil, errors.Join(fmt.Errorf("start Jaeger: %w", err), j.End())
	}
	return j, nil
}

func (j *Jaeger) launch(ctx context.Context, program string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, jaegerStartTimeout, fmt.Errorf("not ready after %s", jaegerStartTimeout))
	defer cancel()
	ports, err := freePorts(7)
	if err != nil {
		return err
	}
	args := []string{"--memory.max-traces=10000", "--log-level=warn"}
	for i, flag := range []string{
		"collector.otlp.http", "query.http-server", "admin.http",
		"collector.otlp.grpc", "collector.grpc-server", "collector.http-server", "query.grpc-server",
	} {
		args = append(args, fmt.Sprintf("--%s.host-port=127.0.0.1:%d", flag, ports[i]))
	}
	j.otlp, j.query = fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	j.process, err = startProcess(command{
		name: "jaeger", program: program, args: args, logPath: j.room.path("jaeger.log"),
		env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + j.room.dir, "TMPDIR=" + j.room.dir},
	})
	if err != nil {
		return err
	}
	ready := func() bool {
		return Answers(ctx, fmt.Sprintf("http://127.0.0.1:%d/", ports[2])) && Answers(ctx, j.query+"/api/services")
	}
	return poll(ctx, "Jaeger to answer", ready, j.process)
}

// OTLP returns its address for spans, by OTLP over HTTP.
func (j *Jaeger) OTLP() string { return j.otlp }

// Query returns the address of its query API, "http://127.0.0.1:PORT".
func (j *Jaeger) Query() string { return j.query }

// End stops it.
func (j *Jaeger) End() error {
	if j.process != nil {
		j.process.kill()
	}
	return j.room.remove()
}
