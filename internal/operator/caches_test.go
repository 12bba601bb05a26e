package operator

import (
	"maps"
	"slices"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/lockstep-dev/lockstep/internal/operator/config"
)

// The loss of a watch would stay undetected if its cache had no age.
func TestEveryCacheHasAnAge(t *testing.T) {
	always := []string{"leases", "namespaces", "pods", "statefulsets", "zoneawarepoddisruptionbudgets"}
	guarded := append([]string{"deployments", "replicasets", "secrets"}, always...)
	for args, want := range map[string][]string{
		"": always,
		"-server-tls.enabled -webhooks.update-ca-bundle=false": guarded,
		"-server-tls.enabled":                               append([]string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, guarded...),
		"-server-tls.enabled -webhooks.ca-bundle-names=a,b": append([]string{"mutatingwebhookconfigurations/a", "mutatingwebhookconfigurations/b", "validatingwebhookconfigurations/a", "validatingwebhookconfigurations/b"}, guarded...),
	} {
		t.Run(args, func(t *testing.T) {
			c, _, err := config.Parse(append(strings.Fields(args), "-kubernetes.api-url=http://127.0.0.1:1"), config.Environment{})
			if err != nil {
				t.Fatal(err)
			}
			log, _ := logtest.NewNullLogger()
			o, err := New(t.Context(), c, log, "test")
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(o.cacheVersions())); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
