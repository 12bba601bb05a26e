package contract_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/proof/fuzzcorpus"
)

func prepare(port, path string) (contract.Call, error) {
	return contract.PrepareCall(map[string]string{contract.PreparePortAnnotation: port, contract.PreparePathAnnotation: path})
}

func TestPrepareCall(t *testing.T) {
	for name, tc := range map[string]struct {
		port, path string
		want       contract.Call
		uri        string
	}{
		"a path without a slash":                  {"80", "ingester/prepare-shutdown", contract.Call{Port: 80, Path: "/ingester/prepare-shutdown"}, "/ingester/prepare-shutdown"},
		"a path with a slash":                     {"8080", "/shutdown", contract.Call{Port: 8080, Path: "/shutdown"}, "/shutdown"},
		"a path with a query":                     {"1", "a/b?unregister=true&x=%2F", contract.Call{Port: 1, Path: "/a/b", Query: "unregister=true&x=%2F"}, "/a/b?unregister=true&x=%2F"},
		"a query with a question mark in it":      {"80", "a?b?c", contract.Call{Port: 80, Path: "/a", Query: "b?c"}, "/a?b?c"},
		"a question mark with nothing after it":   {"80", "a?", contract.Call{Port: 80, Path: "/a"}, "/a"},
		"only a query":                            {"80", "?a=b", contract.Call{Port: 80, Path: "/", Query: "a=b"}, "/?a=b"},
		"the root":                                {"65535", "/", contract.Call{Port: 65535, Path: "/"}, "/"},
		"a slash at the end is kept":              {"80", "a/", contract.Call{Port: 80, Path: "/a/"}, "/a/"},
		"a path that resembles a host":            {"80", "evil.example:80/x", contract.Call{Port: 80, Path: "/evil.example:80/x"}, "/evil.example:80/x"},
		"percent-encoding is kept":                {"80", "a%2Fb%C3%A9", contract.Call{Port: 80, Path: "/a%2Fb%C3%A9"}, "/a%2Fb%C3%A9"},
		"dots that are part of a name are a name": {"80", "..a/b../.c", contract.Call{Port: 80, Path: "/..a/b../.c"}, "/..a/b../.c"},
		"slashes at the beginning are one":        {"80", "//ingester/prepare_shutdown", contract.Call{Port: 80, Path: "/ingester/prepare_shutdown"}, "/ingester/prepare_shutdown"},
		"slashes in the middle are one":           {"80", "ingester//prepare_shutdown", contract.Call{Port: 80, Path: "/ingester/prepare_shutdown"}, "/ingester/prepare_shutdown"},
		"slashes at the end are one":              {"80", "/ingester/prepare_shutdown//", contract.Call{Port: 80, Path: "/ingester/prepare_shutdown/"}, "/ingester/prepare_shutdown/"},
		"slashes everywhere are one each":         {"80", "////a///b/////c//", contract.Call{Port: 80, Path: "/a/b/c/"}, "/a/b/c/"},
		"slashes alone are the root":              {"80", "///", contract.Call{Port: 80, Path: "/"}, "/"},
		"slashes before a query are one":          {"80", "//a//?b=c", contract.Call{Port: 80, Path: "/a/", Query: "b=c"}, "/a/?b=c"},
		"slashes in a query are kept":             {"80", "a//b?c=//d//", contract.Call{Port: 80, Path: "/a/b", Query: "c=//d//"}, "/a/b?c=//d//"},
		"a URL without scheme is a path":          {"80", "//host/x", contract.Call{Port: 80, Path: "/host/x"}, "/host/x"},
		"as many characters as may be":            {"80", "/" + strings.Repeat("x", 1024), contract.Call{Port: 80, Path: "/" + strings.Repeat("x", 1024)}, "/" + strings.Repeat("x", 1024)},
		"dots in a query are harmless":            {"80", "a?../b", contract.Call{Port: 80, Path: "/a", Query: "../b"}, "/a?../b"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := prepare(tc.port, tc.path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got.RequestURI() != tc.uri {
				t.Errorf("request URI is %s, want %s", got.RequestURI(), tc.uri)
			}
		})
	}
}

func TestTheErrorOfAnUnusableCallNamesTheCauseAndAcceptedValues(t *testing.T) {
	const ofPort, ofPath = ": must be a number from 1 to 65535", ": must be a path such as ingester/prepare-shutdown"
	const port, path = "annotation grafana.com/prepare-downscale-http-port ", "annotation grafana.com/prepare-downscale-http-path "
	for name, tc := range map[string]struct{ port, path, want string }{
		"no annotations":                {"", "", port + "is missing or empty" + ofPort + "; " + path + "is missing or empty" + ofPath},
		"a port with a host":            {"80@host", "x", port + `is "80@host", which is not a port` + ofPort},
		"an octal port":                 {"080", "x", port + `is "080", which is not a port` + ofPort},
		"a port beyond the last":        {"65536", "x", port + `is "65536", which is not a port` + ofPort},
		"a port of unicode digits":      {"８０", "x", port + `is "\uff18\uff10", which is not a port` + ofPort},
		"a long port":                   {strings.Repeat("9", 99), "x", port + `is "` + strings.Repeat("9", 39) + `..., which is not a port` + ofPort},
		"a URL":                         {"80", "http://host/x", path + `is "http://host/x", which names a host` + ofPath},
		"a URL with slashes":            {"80", "//http:////host//x", path + `is "//http:////host//x", which names a host` + ofPath},
		"a user at a host":              {"80", "x@host", path + `is "x@host", which has "@" at position 2` + ofPath},
		"a fragment":                    {"80", "x#y", path + `is "x#y", which has "#" at position 2` + ofPath},
		"a backslash":                   {"80", `x\y`, path + `is "x\\y", which has "\\" at position 2` + ofPath},
		"another header":                {"80", "x\r\nHost: y", path + `is "x\r\nHost: y", which has "\r" at position 2` + ofPath},
		"another header, encoded":       {"80", "x%0d%0aHost", path + `is "x%0d%0aHost", which encodes a control character at position 2` + ofPath},
		"half an encoded byte":          {"80", "x%2", path + `is "x%2", which has a % without two hexadecimal digits after it at position 2` + ofPath},
		"the parent":                    {"80", "x/../y", path + `is "x/../y", which has a . or .. segment` + ofPath},
		"the parent behind slashes":     {"80", "//..//y", path + `is "//..//y", which has a . or .. segment` + ofPath},
		"itself between slashes":        {"80", "x//.//", path + `is "x//.//", which has a . or .. segment` + ofPath},
		"the parent, encoded":           {"80", "x%2F.%2e/y", path + `is "x%2F.%2e/y", which has a . or .. segment` + ofPath},
		"a letter that no URL contains": {"80", "é", path + `is "\u00e9", which has "\xc3" at position 1` + ofPath},
		"a path that is too long":       {"80", strings.Repeat("x", 1025), path + `is "` + strings.Repeat("x", 39) + `..., which is longer than 1024 characters` + ofPath},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := prepare(tc.port, tc.path)
			if err == nil || got != (contract.Call{}) {
				t.Fatalf("got %#v, want nothing", got)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLabelsAreExactlyTrue(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": false, "1": false, "": false, " true": false} {
		labels := map[string]string{contract.NoDownscaleLabel: value, contract.PrepareDownscaleLabel: value}
		if contract.NoDownscale(labels, nil) != want || contract.PrepareDownscale(labels, nil) != want {
			t.Errorf("%q: got %t and %t, want %t", value, contract.NoDownscale(labels, nil), contract.PrepareDownscale(labels, nil), want)
		}
	}
	if contract.NoDownscale(nil, nil) || contract.PrepareDownscale(nil, nil) {
		t.Error("an object without labels has a call")
	}
}

func TestNoHostilePortIsAPort(t *testing.T) {
	forms := fuzzcorpus.Ports()
	if len(forms) < 500 {
		t.Errorf("%d forms, want 500", len(forms))
	}
	for _, port := range forms {
		if got, err := prepare(port, "x"); err == nil {
			t.Errorf("%q is accepted as %d", port, got.Port)
		}
	}
}

func TestNoHostilePathNamesAHost(t *testing.T) {
	forms := fuzzcorpus.Paths()
	if len(forms) < 500 {
		t.Errorf("%d forms, want 500", len(forms))
	}
	for _, path := range forms {
		lawful(t, "80", path)
	}
}

// A stored call is validated like the annotations from which it was made.
func TestEveryValidCallCanBeRequestedByAnnotations(t *testing.T) {
	for _, path := range append(fuzzcorpus.Paths(), "x", "/x", "x?y", "//x", "/x//y", "/x/", "/x//", strings.Repeat("x", 1024)) {
		asked, err := prepare("80", path)
		if err == nil && !asked.Valid() {
			t.Errorf("%q can be requested and is not valid", path)
		}
		before, query, _ := strings.Cut(path, "?")
		stored := contract.Call{Port: 80, Path: before, Query: query}
		if again, err := prepare("80", stored.RequestURI()); stored.Valid() && (err != nil || again != stored) {
			t.Errorf("%q is valid and would be requested as %+v, %v", path, again, err)
		}
	}
	for _, port := range []int{-1, 0, 65536} {
		if (contract.Call{Port: port, Path: "/x"}).Valid() {
			t.Errorf("port %d is valid", port)
		}
	}
}

// lawful checks that any two texts are either rejected, with a message of one line, or result in a call to
// the intended host.
func lawful(t *testing.T, port, path string) {
	t.Helper()
	call, err := prepare(port, path)
	if err != nil {
		if call != (contract.Call{}) {
			t.Errorf("port %q, path %q: refused with a call, %#v", port, path, call)
		}
		for _, c := range err.Error() {
			if c < ' ' || c > '~' {
				t.Errorf("port %q, path %q: the error has %q: %q", port, path, c, err)
			}
		}
		if len(err.Error()) > 500 {
			t.Errorf("port %q, path %q: the error has %d characters", port, path, len(err.Error()))
		}
		return
	}
	if call.Port < 1 || call.Port > 65535 || strconv.Itoa(call.Port) != port {
		t.Errorf("port %q is accepted as %d", port, call.Port)
	}
	const host = "pod-0.svc.team.svc.cluster.local:80"
	u, err := url.Parse("http://" + host + call.RequestURI())
	if err != nil {
		t.Fatalf("path %q is accepted as %q, which is not a path: %v", path, call.RequestURI(), err)
	}
	if u.Host != host || u.User != nil || u.Fragment != "" || u.Opaque != "" || u.RequestURI() != call.RequestURI() {
		t.Errorf("path %q is accepted as %q, which goes to %#v", path, call.RequestURI(), u)
	}
	if strings.Contains(call.Path, "//") || call.Path[0] != '/' {
		t.Errorf("path %q is accepted as %q, which is not clean", path, call.Path)
	}
	again, err := prepare(port, call.RequestURI())
	if err != nil || again != call {
		t.Errorf("path %q is accepted as %q, which is read as %#v (%v)", path, call.RequestURI(), again, err)
	}
}

func FuzzPrepareCall(f *testing.F) {
	for _, port := range fuzzcorpus.Ports() {
		f.Add(port, "ingester/prepare-shutdown")
	}
	for _, path := range append(fuzzcorpus.Paths(), "//a///b//?c=//d", strings.Repeat("x", 1024)) {
		f.Add("80", path)
	}
	f.Fuzz(lawful)
}
