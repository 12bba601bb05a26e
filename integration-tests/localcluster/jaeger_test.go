package localcluster_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// If Jaeger is missing, this test builds it before tests that would be slowed down.
func TestAJaegerAnswersUntilItIsEnded(t *testing.T) {
	t.Parallel()
	jaeger, err := localcluster.StartJaeger(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := services(t, jaeger); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	if err := jaeger.End(); err != nil {
		t.Fatal(err)
	}
	if services(t, jaeger) == nil {
		t.Error("it answers after its end")
	}
}

// services returns an error unless Jaeger returns its list of services.
func services(t *testing.T, jaeger *localcluster.Jaeger) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, jaeger.Query()+"/api/services", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
