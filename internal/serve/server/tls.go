package server

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// mostReview bounds what a request may bring along, in bytes: a review holds an
	// object twice, each of which the API server limits to 3 MiB.
	mostReview = 7 << 20
	// handlerShare is how much of a request's time its handler has, in percent: the
	// rest is for reading and answering.
	handlerShare = 90
)

// TLSOptions say what is served to API servers. All but Host and DrainClients
// are required.
type TLSOptions struct {
	// Host is the address to listen on; all interfaces when empty.
	Host string
	// Port is 0 to 65535; 0 picks a free one.
	Port           int
	Handler        http.Handler
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// DrainClients limits for how long, at the end, requests on open connections are answered.
	// Each response asks the client to close the connection.
	DrainClients time.Duration
	// Limit bounds a request as a whole; the context that the handler gets ends a
	// little earlier.
	Limit time.Duration
	Log   logrus.FieldLogger
}

// ListenTLS opens the port, as Listen does. What is served is asked for with
// every connection, so that a certificate can change at any time.
func ListenTLS(ctx context.Context, o TLSOptions) (*Server, error) {
	s, err := open(ctx, o.Host, o.Port, o.Log, &http.Server{
		Handler:      http.MaxBytesHandler(hurried(o.Handler, o.Limit*handlerShare/100), mostReview),
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

// hurried ends the context of every request after a while.
func hurried(next http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
