package apitest

import (
	"net/http"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Client returns a client of a server that answers in the goroutine of the caller, so
// that both can run in a bubble of testing/synctest. It sends JSON and has no client-side
// rate limit.
func Client(tb testing.TB, server http.RoundTripper) kubernetes.Interface {
	tb.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: "http://api", Transport: server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return client
}
