package main

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// krewPlugin is the manifest that krew requires.
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Platforms        []platform `json:"platforms"`
	} `json:"spec"`
}

type platform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	Sha256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

// platforms are the platforms of the plugin, with the name of its program.
var platforms = map[string]string{
	"linux_amd64": "kubectl-lockstep", "linux_arm64": "kubectl-lockstep",
	"darwin_amd64": "kubectl-lockstep", "darwin_arm64": "kubectl-lockstep",
	"windows_amd64": "kubectl-lockstep.exe", "windows_arm64": "kubectl-lockstep.exe",
}

func TestTheKrewManifestIsCompleteInARelease(t *testing.T) {
	text, err := os.ReadFile("../../manifests/krew/lockstep.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sum := strings.Repeat("0a", 32)
	filled := os.Expand(string(text), func(name string) string {
		switch {
		case name == "VERSION":
			return "v1.2.3"
		case name == "RELEASE":
			return "https://releases.invalid/v1.2.3"
		case regexp.MustCompile(`^SHA256_[a-z]+_[a-z0-9]+$`).MatchString(name):
			return sum
		case name == "SHA256_...": // in a comment of the manifest
			return ""
		}
		t.Errorf("no step of the release replaces ${%s}", name)
		return ""
	})
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict([]byte(filled), &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || plugin.Kind != "Plugin" || plugin.Metadata["name"] != "lockstep" || plugin.Spec.Version != "v1.2.3" {
		t.Errorf("it is %+v", plugin)
	}
	if short := plugin.Spec.ShortDescription; short == "" || len(short) > 50 || strings.HasSuffix(short, ".") {
		t.Errorf("%q is no short description", short)
	}
	named := map[string]string{}
	for _, p := range plugin.Spec.Platforms {
		name := p.Selector.MatchLabels["os"] + "_" + p.Selector.MatchLabels["arch"]
		if named[name] != "" || p.URI != "https://releases.invalid/v1.2.3/kubectl-lockstep_"+name+".tar.gz" || p.Sha256 != sum {
			t.Errorf("%s: %+v", name, p)
		}
		named[name] = p.Bin
	}
	if !maps.Equal(named, platforms) {
		t.Errorf("the manifest lists %v, but the built platforms are %v", named, platforms)
	}
}
