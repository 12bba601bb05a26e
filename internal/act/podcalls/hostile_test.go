package podcalls_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/act/podcalls"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/proof/fuzzcorpus"
	"github.com/lockstep-dev/lockstep/internal/proof/netns"
)

// Whatever a tenant writes, a connection goes only to the pod and the parsed port, and the call uses the
// pod's name. That is true for parsed annotations and for a call that was not validated.
func TestNoAnnotationLeadsAnywhereButToThePod(t *testing.T) {
	var wrongHost atomic.Pointer[string]
	l := httpLand(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Host != "zone-a-0.ingester.team.svc.cluster.local:80" {
			wrongHost.Store(&r.Host)
		}
	}, 80, 8080, 443, 22, 53, 6379, 65535)
	questions := countLookups(t)
	c := podcalls.New(podcalls.Options{})
	forms, called := 0, 0
	try := func(what string, call contract.Call) {
		if prepare(t.Context(), c, call, pods(1)).First() == nil {
			called++
		}
		for where := range l.connections() {
			if where != "10.244.0.1:80" {
				t.Errorf("%s leads to %s", what, where)
			}
		}
		if host := wrongHost.Swap(nil); host != nil {
			t.Errorf("%s calls %q", what, *host)
		}
	}
	annotated := func(port, path string) {
		forms++
		call, err := contract.PrepareCall(map[string]string{contract.PreparePortAnnotation: port, contract.PreparePathAnnotation: path})
		if err == nil {
			try(fmt.Sprintf("port %q path %q", port, path), call)
		}
	}
	for _, port := range fuzzcorpus.Ports() {
		annotated(port, "ingester/prepare-shutdown")
	}
	for _, path := range fuzzcorpus.Paths() {
		annotated("80", path)
		try(fmt.Sprintf("unchecked path %q", path), contract.Call{Port: 80, Path: "/" + path})
		try(fmt.Sprintf("unchecked query %q", path), contract.Call{Port: 80, Path: "/", Query: path})
	}
	if forms < 1000 || called == 0 {
		t.Errorf("%d forms, %d calls that were answered", forms, called)
	}
	if n := questions.Load(); n > 0 {
		t.Errorf("%d names were looked up", n)
	}
}

// countLookups counts packets to any name server.
func countLookups(t *testing.T) *atomic.Int64 {
	t.Helper()
	var called atomic.Int64
	server, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		packet := make([]byte, 1500)
		for {
			if _, _, err := server.ReadFrom(packet); err != nil {
				return
			}
			called.Add(1)
		}
	}()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return &called
}

// say returns a server that answers each connection with a text and keeps it open.
func say(text string) func(context.Context, net.Conn) {
	whole := []byte(text)
	return func(ctx context.Context, c net.Conn) {
		if _, err := c.Write(whole); err == nil {
			<-ctx.Done()
		}
	}
}

// forever returns a server that sends a beginning and then repeats a part until the connection is closed.
func forever(beginning, part string, pause time.Duration) func(context.Context, net.Conn) {
	first, next := []byte(beginning), []byte(part)
	return func(_ context.Context, c net.Conn) {
		_, err := c.Write(first)
		for err == nil {
			time.Sleep(pause)
			_, err = c.Write(next)
		}
	}
}

const ok = "HTTP/1.1 200 OK\r\n"

var megabyte = strings.Repeat("x", 1<<20)

func TestWhateverAPodAnswersTakesLittleTimeAndMemory(t *testing.T) {
	neverDone := []string{"a body that drips", "a body that never arrives", "a size of chunk beyond measure"} // answers without an end
	answered := podcalls.Result{Pod: "zone-a-0", Outcome: podcalls.Answered, Status: 200}
	failed := func(why podcalls.Why) podcalls.Result {
		return podcalls.Result{Pod: "zone-a-0", Outcome: podcalls.Failed, Why: why}
	}
	declined := func(status int) podcalls.Result {
		return podcalls.Result{Pod: "zone-a-0", Outcome: podcalls.Failed, Why: podcalls.Declined, Status: status}
	}
	for name, tc := range map[string]struct {
		pod  func(context.Context, net.Conn)
		want podcalls.Result
	}{
		"nothing at all":                   {say(""), failed(podcalls.NoAnswer)},
		"an end at once":                   {func(context.Context, net.Conn) {}, failed(podcalls.Garbled)},
		"an end in the middle":             {func(_ context.Context, c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 2") }, failed(podcalls.Garbled)},
		"a plain yes":                      {say(ok + "Content-Length: 0\r\n\r\n"), answered},
		"an old yes":                       {say("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"), answered},
		"HTTP/0.9":                         {say("<html>hello</html>\n"), failed(podcalls.Garbled)},
		"HTTP/0.9 without an end":          {forever("", megabyte, 0), failed(podcalls.Garbled)},
		"HTTP/2":                           {say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), failed(podcalls.Garbled)},
		"frames of HTTP/2":                 {say("\x00\x00\x00\x04\x00\x00\x00\x00\x00\r\n\r\n"), failed(podcalls.Garbled)},
		"TLS":                              {say("\x15\x03\x01\x00\x02\x02\x46\r\n\r\n"), failed(podcalls.Garbled)},
		"another protocol":                 {say("220 mail.example ESMTP\r\n\r\n"), failed(podcalls.Garbled)},
		"zeros without an end":             {forever("", strings.Repeat("\x00", 1<<16), 0), failed(podcalls.Garbled)},
		"a body without an end":            {forever(ok+"\r\n", megabyte, 0), answered},
		"chunks without an end":            {forever(ok+"Transfer-Encoding: chunked\r\n\r\n", "10000\r\n"+megabyte[:1<<16]+"\r\n", 0), answered},
		"chunks of one byte":               {forever(ok+"Transfer-Encoding: chunked\r\n\r\n", "1;"+megabyte[:1000]+"\r\nx\r\n", 0), answered},
		"a size of chunk beyond measure":   {say(ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"), answered},
		"a gigabyte":                       {forever(ok+"Content-Length: 1073741824\r\n\r\n", megabyte, 0), answered},
		"an exabyte":                       {forever(ok+"Content-Length: 9223372036854775807\r\n\r\n", megabyte, 0), answered},
		"a gzip bomb":                      {forever(ok+"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", megabyte, 0), answered},
		"a body that drips":                {forever(ok+"\r\n", "x", 10*time.Millisecond), answered},
		"a body that never arrives":        {say(ok + "Content-Length: 10\r\n\r\n"), answered},
		"a head that drips":                {forever(ok, "X: y\r\n", 10*time.Millisecond), failed(podcalls.NoAnswer)},
		"a status line that drips":         {forever("HTTP/1.1 200 ", "x", 10*time.Millisecond), failed(podcalls.NoAnswer)},
		"a head without an end":            {forever(ok, "X: "+megabyte[:1000]+"\r\n", 0), failed(podcalls.Garbled)},
		"a head of 20 KiB":                 {say(ok + "X: " + megabyte[:20<<10] + "\r\nContent-Length: 0\r\n\r\n"), failed(podcalls.Garbled)},
		"a line without an end":            {forever(ok+"X: ", megabyte, 0), failed(podcalls.Garbled)},
		"a status without an end":          {forever("HTTP/1.1 200 ", megabyte, 0), failed(podcalls.Garbled)},
		"100000 headers":                   {say(ok + strings.Repeat("X: y\r\n", 100000) + "\r\n"), failed(podcalls.Garbled)},
		"trailers without an end":          {forever(ok+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n", 0), answered},
		"100 Continue without an end":      {forever("", "HTTP/1.1 100 Continue\r\n\r\n", 0), failed(podcalls.Garbled)},
		"103 Early Hints without an end":   {forever("", "HTTP/1.1 103 Early Hints\r\nLink: <http://10.9.9.9/>\r\n\r\n", 0), failed(podcalls.Garbled)},
		"103 Early Hints that drip":        {forever("", "HTTP/1.1 103 Early Hints\r\n\r\n", 20*time.Millisecond), failed(podcalls.NoAnswer)},
		"an upgrade":                       {say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), declined(101)},
		"an upgrade that talks on":         {forever("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", megabyte, 0), declined(101)},
		"a status below all":               {say("HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n"), declined(0)},
		"a status above all":               {say("HTTP/1.1 999 Everything\r\nContent-Length: 0\r\n\r\n"), declined(999)},
		"a status of four digits":          {say("HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"), failed(podcalls.Garbled)},
		"a negative status":                {say("HTTP/1.1 -20 OK\r\nContent-Length: 0\r\n\r\n"), failed(podcalls.Garbled)},
		"two lengths":                      {say(ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), failed(podcalls.Garbled)},
		"a negative length":                {say(ok + "Content-Length: -1\r\n\r\n"), failed(podcalls.Garbled)},
		"a header with a line break in it": {say(ok + "X: a\r\n b\r\nContent-Length: 0\r\n\r\n"), answered},
		"an invalid header":                {say(ok + "no colon\r\n\r\n"), failed(podcalls.Garbled)},
		"a redirect in a refresh":          {say(ok + "Refresh: 0;url=http://10.9.9.9/\r\nContent-Length: 0\r\n\r\n"), answered},
		"a demand for credentials":         {say("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"), declined(401)},
		"a demand of a proxy":              {say("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"), declined(407)},
		"another service":                  {say(ok + "Alt-Svc: h2=\"10.9.9.9:443\"\r\nContent-Length: 0\r\n\r\n"), answered},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, tc.pod, 80)
			limit, most := 10*time.Second, 9*time.Second // a complete answer is accepted before the limit
			if tc.want.Why == podcalls.NoAnswer || slices.Contains(neverDone, name) {
				limit, most = time.Second, 10*time.Second
			}
			c := podcalls.New(podcalls.Options{CallLimit: limit})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			got := prepare(t.Context(), c, shutdown, pods(1))
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if diff := cmp.Diff(podcalls.Results{tc.want}, got, withoutTook); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if took > most {
				t.Errorf("took %v, limit %v", took, limit)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 2<<20 {
				t.Errorf("took %d bytes of memory", taken)
			}
			if diff := cmp.Diff(map[string]int{"10.244.0.1:80": 1}, l.connections()); diff != "" {
				t.Errorf("connections (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMoreThan64KiBAreNotRead(t *testing.T) {
	listen(t, say(ok+"\r\n"+megabyte[:64<<10]), 80) // and nothing more
	got := prepare(t.Context(), podcalls.New(podcalls.Options{CallLimit: time.Minute}), shutdown, pods(1))[0]
	if got.Outcome != podcalls.Answered || got.Took > 30*time.Second {
		t.Errorf("%v after %v", got, got.Took)
	}
}

func TestAPodThatIsNotThereCannotBeReached(t *testing.T) {
	netns.Need(t, noNetwork)
	got := prepare(t.Context(), podcalls.New(podcalls.Options{}), shutdown, pods(1))
	if diff := cmp.Diff(podcalls.Results{{Pod: "zone-a-0", Outcome: podcalls.Failed, Why: podcalls.Unreachable}}, got, withoutTook); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The text of a pod's answer must not occur in messages to users or in metrics.
func TestTextOfAPodIsNotPassedOn(t *testing.T) {
	var logged bytes.Buffer // net/http writes log messages that cannot be disabled
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	for _, answer := range []string{
		"secret\r\n\r\n", "HTTP/1.1 500 secret\r\nX: secret\r\nContent-Length: 6\r\n\r\nsecret",
		"HTTP/1.1 secret\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 secret\r\n\r\n", ok + "secret\r\n\r\n", ok + "Content-Length: secret\r\n\r\n", "HTTP/1.1 302 secret\r\nLocation: http://secret/\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run("", func(t *testing.T) {
			listen(t, say(answer), 80)
			var notified []string
			c := podcalls.New(podcalls.Options{Observe: func(_ podcalls.Pod, _ podcalls.Purpose, r podcalls.Result) {
				notified = append(notified, fmt.Sprintf("%+v", r))
			}})
			for _, r := range prepare(t.Context(), c, shutdown, pods(1)) {
				notified = append(notified, r.String())
			}
			if all := strings.Join(notified, "\n"); strings.Contains(all, "secret") {
				t.Errorf("%q is reported as %q", answer, all)
			}
		})
	}
	if logged.Len() > 0 {
		t.Errorf("logged: %q", logged.String())
	}
}

// The number of goroutines is limited by Parallel, not by the number of pods.
func TestManyPodsTakeFewGoroutines(t *testing.T) {
	var most atomic.Int64
	httpLand(t, func(http.ResponseWriter, *http.Request) {}, 80)
	before := runtime.NumGoroutine()
	c := podcalls.New(podcalls.Options{Parallel: 8, Observe: func(podcalls.Pod, podcalls.Purpose, podcalls.Result) {
		most.Store(max(most.Load(), int64(runtime.NumGoroutine()-before)))
	}})
	if got := prepare(t.Context(), c, shutdown, pods(200)); got.First() != nil {
		t.Error(got.First())
	}
	if most.Load() > 8*8 {
		t.Errorf("%d goroutines for 8 calls at a time", most.Load())
	}
}
