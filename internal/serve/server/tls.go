package server

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// mostReview is the maximum size of a request body, in bytes. A review contains two
	// versions of an object, and the API server limits each to 3 MiB.
	mostReview = 7 << 20
	// handlerShare is the percentage of a request's time that its handler has. The rest is
	// for reading the request and writing the response.
	handlerShare = 90
)

// TLSOptions configure the listener for webhooks. All fields but Host and DrainClients are
// required.
type TLSOptions struct {
	// Host is the address to listen on. If it is empty, the server listens on all interfaces.
	Host string
	// Port is 0 to 65535. If it is 0, the system chooses a free port.
	Port           int
	Handler        http.Handler
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// DrainClients limits how long the server answers requests on open connections after a
	// shutdown has begun. Each response asks the client to close its connection.
	DrainClients time.Duration
	// Limit is the maximum duration of a request. The context of the handler ends a
	// little earlier.
	Limit time.Duration
	Log   logrus.FieldLogger
}

// ListenTLS opens the port, as Listen does. The server calls GetCertificate for every
// connection, so the certificate can change at any time.
func ListenTLS(ctx context.Context, o TLSOptions) (*Server, error) {
	s, err := open(ctx, o.Host, o.Port, o.Log, &http.Server{
		Handler:      http.MaxBytesHandler(withTimeout(o.Handler, o.Limit*handlerShare/100), mostReview),
		TLSConfig:    &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: o.GetCertificate},
		ReadTimeout:  o.Limit,
		WriteTimeout: o.Limit,
	})
	if err != nil {
		return nil, err
	}
	s.drainClients, s.drainRequests = o.DrainClients, o.Limit
	s.announce("serving webhooks")
	return s, nil
}

// withTimeout returns a handler that ends the context of each request after limit.
func withTimeout(next http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
