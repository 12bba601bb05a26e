package config

import (
	"maps"
	"slices"
	"testing"
)

func TestNoTwoFlagsShareAVariable(t *testing.T) {
	by := map[string]string{}
	for _, name := range newTable(new(Config)).names() {
		if other, taken := by[variable(name)]; taken {
			t.Errorf("-%s and -%s are both set by %s", name, other, variable(name))
		}
		by[variable(name)] = name
	}
	if got := by["LOCKSTEP_SERVER_TLS_PORT"]; got != "server-tls.port" {
		t.Errorf("LOCKSTEP_SERVER_TLS_PORT sets -%s", got)
	}
	for v := range maps.Keys(by) {
		if isServiceLink(v, "8001") {
			t.Errorf("%s could be set by Kubernetes, and would be ignored", v)
		}
	}
}

func TestTheNearestName(t *testing.T) {
	names := []string{"server.port", "log.level", "log.format", "workers"}
	for word, want := range map[string]string{
		"server.prot": "server.port",
		"worker":      "workers",
		"log-level":   "log.level",
		"banana":      "",
		"":            "",
	} {
		if got := nearest(word, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
	if got := nearest("x", slices.Clone(names[:0])); got != "" {
		t.Errorf("nearest of nothing is %q", got)
	}
}
