package server

import (
	"context"
	"errors"
	"fmt"
	stdlog "log" //nolint:depguard // net/http knows no other log, see errorLog
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	readLimit   = 10 * time.Second
	writeLimit  = 30 * time.Second // pprof adds the seconds it was asked for
	idleLimit   = 3 * time.Minute
	mostHeaders = 32 << 10
	drainLimit  = 5 * time.Second
)

// Options say what is served. Log is required; a handler that is not set is not
// served, and not listed.
type Options struct {
	// Host is the address to listen on; all interfaces when empty.
	Host string
	// Port is 0 to 65535; 0 picks a free one.
	Port int
	Log  logrus.FieldLogger

	Metrics http.Handler // /metrics
	Ready   []Check      // /ready
	Healthy []Check      // /healthz
	Config  http.Handler // /debug/config
	// Groups serves /debug/groups and /debug/groups/{namespace}/{group}. In the
	// second form the request's PathValue knows namespace and group; the group may
	// be empty, as its name may be, and have slashes, which no name has.
	Groups http.Handler
}

// Server is a listener that is open already.
type Server struct {
	log      logrus.FieldLogger
	listener net.Listener
	http     *http.Server
	clients  drain

	drainClients  time.Duration // at the end, for how long clients are asked to close their connections
	drainRequests time.Duration // after that, how long requests in progress may take
}

// Listen opens the port, so that a port in use is known before anything else
// begins, and logs the address. Requests wait until Serve.
func Listen(ctx context.Context, o Options) (*Server, error) {
	s, err := open(ctx, o.Host, o.Port, o.Log, &http.Server{Handler: o.routes(), ReadTimeout: readLimit, WriteTimeout: writeLimit})
	if err != nil {
		return nil, err
	}
	s.drainRequests = drainLimit
	s.announce("listening")
	return s, nil
}

// open opens the port for an http.Server, which gets what all of ours have.
func open(ctx context.Context, host string, port int, log logrus.FieldLogger, h *http.Server) (*Server, error) {
	where := net.JoinHostPort(host, strconv.Itoa(port))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", where)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", where, err)
	}
	h.ReadHeaderTimeout = h.ReadTimeout
	h.IdleTimeout = idleLimit
	h.MaxHeaderBytes = mostHeaders
	h.ErrorLog = stdlog.New(errorLog{log}, "", 0)
	s := &Server{log: log, listener: listener, http: h}
	s.clients.attach(h)
	return s, nil
}

// Address returns host:port, such that a client on this machine can dial it.
func (s *Server) Address() string {
	address, ok := s.listener.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsUnspecified() {
		return s.listener.Addr().String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(address.Port))
}

func (s *Server) announce(what string) {
	log := s.log.WithField("address", s.Address())
	if open := s.listener.Addr().String(); open != s.Address() {
		log = log.WithField("listen", open)
	}
	log.Info(what)
}

// Serve answers requests until ctx ends. It then asks the clients of webhooks to close their
// connections, until all are closed or TLSOptions.DrainClients is over. Requests in progress may
// finish, for five seconds at most, or as long as a request to a webhook may take. Serve returns nil
// after such an end.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.serve() }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", s.Address(), err)
	case <-ctx.Done():
		s.closeConnections()
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drainRequests)
	defer cancel()
	err := s.http.Shutdown(limit)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.WithField("address", s.Address()).Warn("requests were cut short at the end")
		err = s.http.Close()
	}
	if gone := <-failed; !errors.Is(gone, http.ErrServerClosed) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		return fmt.Errorf("close %s: %w", s.Address(), err)
	}
	return nil
}

func (s *Server) closeConnections() {
	if s.drainClients > 0 {
		s.clients.start()
		s.log.WithField("address", s.Address()).Info("asking clients to close their connections")
		s.clients.wait(s.drainClients)
	}
}

func (s *Server) serve() error {
	if s.http.TLSConfig != nil {
		return s.http.ServeTLS(s.listener, "", "") // GetCertificate has it
	}
	return s.http.Serve(s.listener)
}

// errorLog is where net/http complains about clients.
type errorLog struct{ log logrus.FieldLogger }

func (e errorLog) Write(text []byte) (int, error) {
	e.log.WithField("component", "http").Debug(strings.TrimSpace(string(text)))
	return len(text), nil
}
