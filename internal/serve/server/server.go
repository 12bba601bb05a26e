package server

import (
	"context"
	"errors"
	"fmt"
	stdlog "log" //nolint:depguard // net/http supports no other logger, see errorLog
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	readLimit   = 10 * time.Second
	writeLimit  = 30 * time.Second // pprof adds the requested seconds
	idleLimit   = 3 * time.Minute
	mostHeaders = 32 << 10
	drainLimit  = 5 * time.Second
)

// Options configure the listener for operators. Log is required. If a handler is nil,
// the server neither serves nor lists its path.
type Options struct {
	// Host is the address to listen on. If it is empty, the server listens on all interfaces.
	Host string
	// Port is 0 to 65535. If it is 0, the system chooses a free port.
	Port int
	Log  logrus.FieldLogger

	Metrics http.Handler // /metrics
	Ready   []Check      // /ready
	Healthy []Check      // /healthz
	Config  http.Handler // /debug/config
	// Groups serves /debug/groups and /debug/groups/{namespace}/{group}. In the second
	// form, PathValue of the request returns namespace and group. The group can be empty,
	// because a group's name can be empty. It can contain slashes, although no group's
	// name does.
	Groups http.Handler
}

// Server is an open listener and its HTTP server.
type Server struct {
	log      logrus.FieldLogger
	listener net.Listener
	http     *http.Server
	clients  drain

	drainClients  time.Duration // at shutdown: how long responses ask clients to close their connections
	drainRequests time.Duration // after that: how long requests in progress can take
}

// Listen opens the port and logs the address. So a port in use is an error before
// anything else starts. Requests wait until Serve is called.
func Listen(ctx context.Context, o Options) (*Server, error) {
	s, err := open(ctx, o.Host, o.Port, o.Log, &http.Server{Handler: o.routes(), ReadTimeout: readLimit, WriteTimeout: writeLimit})
	if err != nil {
		return nil, err
	}
	s.drainRequests = drainLimit
	s.announce("listening")
	return s, nil
}

// open opens the port and sets the fields of h that both listeners share.
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

// Address returns host:port. A client on this machine can connect to it.
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

// Serve answers requests until ctx ends. Then it asks the clients of webhooks to close their
// connections, until all are closed or TLSOptions.DrainClients is over. Requests in progress
// have five seconds to finish; on the listener for webhooks they have TLSOptions.Limit. Serve
// returns nil after such a shutdown.
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
		s.log.WithField("address", s.Address()).Warn("requests in progress were aborted at shutdown")
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
		return s.http.ServeTLS(s.listener, "", "") // TLSConfig.GetCertificate returns the certificate
	}
	return s.http.Serve(s.listener)
}

// errorLog receives the errors about clients that net/http logs.
type errorLog struct{ log logrus.FieldLogger }

func (e errorLog) Write(text []byte) (int, error) {
	e.log.WithField("component", "http").Debug(strings.TrimSpace(string(text)))
	return len(text), nil
}
