package podcalls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

const (
	mostHeaders = 16 << 10
	mostBody    = 64 << 10
	// mostBytes limits all bytes that are read from a connection, including the HTTP framing of the body.
	mostBytes = mostHeaders + mostBody + 16<<10
)

// conversation is one request to one pod, on its own connection.
type conversation struct {
	method  string
	call    contract.Call
	pod     Pod
	name    string         // the pod's DNS name
	target  netip.AddrPort // the pod's address and port
	limit   time.Duration
	roots   *x509.CertPool // nil for those of the system
	stamped bool           // the answer must contain the time since which the pod is ready to leave
}

// hold sends the request and returns its result.
func (c conversation) hold(ctx context.Context) Result {
	began := time.Now()
	limited, stop := context.WithTimeout(ctx, c.limit)
	defer stop()
	status, body, err := c.ask(limited)
	r := Result{Pod: c.pod.Name, Status: status, Took: time.Since(began)}
	switch good := status >= 200 && status <= 299; {
	case err != nil:
		r.Outcome, r.Why = Failed, whyOf(ctx, limited, err)
	case !good:
		r.Outcome, r.Why = Failed, Declined
	default:
		r.Outcome = Answered
		if r.Since = stampIn(body); c.stamped && r.Since.IsZero() {
			r.Outcome, r.Why = Failed, NoTimestamp
		}
	}
	return r
}

// stampIn returns the time in a body such as {"timestamp": 1767614400}, in whole seconds, or the zero time if
// the body has no valid one.
func stampIn(body []byte) time.Time {
	const lastSecondOf9999 = 253402300799
	var said struct {
		Timestamp int64 `json:"timestamp"`
	}
	if json.Unmarshal(body, &said) != nil || said.Timestamp < 1 || said.Timestamp > lastSecondOf9999 {
		return time.Time{}
	}
	return time.Unix(said.Timestamp, 0).UTC()
}

// ask sends the request and returns the status of the answer. If the answer needs a timestamp, ask also
// returns the body. Otherwise it reads and discards a limited part of the body, so that the pod can finish
// its answer. ask uses the transport without a client, so that there are no redirects, cookies or
// credentials.
func (c conversation) ask(ctx context.Context) (status int, body []byte, err error) {
	request, err := c.request(ctx)
	if err != nil {
		return 0, nil, err
	}
	answer, err := c.transport(ctx).RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusSwitchingProtocols:
	case c.stamped:
		if body, err = io.ReadAll(io.LimitReader(answer.Body, mostBody+1)); err != nil {
			return 0, nil, err
		}
		if len(body) > mostBody {
			body = nil // too long, so it counts as without a timestamp
		}
	default:
		_, _ = io.CopyN(io.Discard, answer.Body, mostBody) // only the status counts
	}
	return answer.StatusCode, body, nil
}

func (c conversation) request(ctx context.Context) (*http.Request, error) {
	where, err := url.ParseRequestURI(c.call.RequestURI())
	if err != nil {
		return nil, errBadCall
	}
	where.Scheme = "http"
	if c.call.TLS {
		where.Scheme = "https"
	}
	where.Host = net.JoinHostPort(c.name, strconv.Itoa(c.call.Port))
	where.User = nil
	request, err := http.NewRequestWithContext(ctx, c.method, where.String(), http.NoBody)
	if err != nil || request.URL.Host != where.Host {
		return nil, errBadCall
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "lockstep")
	request.Header.Set("X-Cluster", c.pod.Namespace) // pods may check it, because the predecessor's pods did
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	return request, nil
}

// transport returns a transport for one request to one address. Dialing is bound to ctx, because
// http.Transport would otherwise continue to dial for later requests, and there are none.
func (c conversation) transport(ctx context.Context) *http.Transport {
	plain := new(http.Protocols)
	plain.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return c.dial(ctx) },
		Protocols:              plain,
		TLSClientConfig:        &tls.Config{ServerName: c.name, RootCAs: c.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    c.limit,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: mostHeaders,
	}
}

// dial connects to the pod, whatever the host of the URL is.
func (c conversation) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{
		KeepAlive: -1,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			return c.permit(network, address)
		},
	}
	connection, err := dialer.DialContext(ctx, "tcp", c.target.String())
	if err != nil {
		return nil, notConnected{err}
	}
	return bounded(connection, mostBytes), nil
}

var (
	errDiverted = errors.New("not the pod's address")
	errBadCall  = errors.New("not a path")
)

// permit returns an error unless the address that is about to be dialed is the pod's.
func (c conversation) permit(network, address string) error {
	actual, err := netip.ParseAddrPort(address)
	if err != nil || actual != c.target || refused(actual.Addr()) != "" || network != "tcp4" && network != "tcp6" {
		return errDiverted
	}
	return nil
}

type notConnected struct{ error }

func (n notConnected) Unwrap() error { return n.error }

// boundedConn limits the bytes that can be read, and blocks reads until the first write: net/http logs
// unsolicited data verbatim.
type boundedConn struct {
	net.Conn
	left     int
	lastCall chan struct{} // closed by the first Write or by Close
	begin    sync.Once
}

var errTooLong = errors.New("the connection has carried as much as it may")

func bounded(c net.Conn, bytes int) *boundedConn {
	return &boundedConn{Conn: c, left: bytes, lastCall: make(chan struct{})}
}

func (c *boundedConn) Write(p []byte) (int, error) {
	c.begin.Do(func() { close(c.lastCall) })
	return c.Conn.Write(p)
}

func (c *boundedConn) Close() error {
	c.begin.Do(func() { close(c.lastCall) })
	return c.Conn.Close()
}

func (c *boundedConn) Read(p []byte) (int, error) {
	<-c.lastCall
	if c.left <= 0 {
		return 0, errTooLong
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// whyOf returns the reason of a failure without the text of the error, which may come from the pod.
func whyOf(called, limited context.Context, err error) Why {
	switch {
	case errors.Is(err, errDiverted):
		return Diverted
	case errors.Is(err, errBadCall):
		return BadCall
	case called.Err() != nil:
		return Abandoned
	case limited.Err() != nil:
		return NoAnswer
	}
	if _, is := errors.AsType[notConnected](err); is {
		return Unreachable
	}
	if _, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		return Untrusted
	}
	return Garbled
}
