package contract_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

func delay(span, url string) group.Delay {
	return contract.Delay(map[string]string{contract.DelayAnnotation: span, contract.DelayURLAnnotation: url})
}

func TestADelayNeedsBothAnnotationsAndMoreThanNothing(t *testing.T) {
	const day, url = 24 * time.Hour, "http://pod/x"
	for text, want := range map[string]time.Duration{
		"1h": time.Hour, "2d": 2 * day, "1h30m": 90 * time.Minute, "1y2w3d4h5m6s7ms": 382*day + 4*time.Hour + 5*time.Minute + 6*time.Second + 7*time.Millisecond,
		"5m": 5 * time.Minute, "5ms": 5 * time.Millisecond, "0d1s": time.Second, "007s": 7 * time.Second, "292y": 292 * 365 * day,
	} {
		if got := delay(text, url); got.For != want || got.Invalid != "" {
			t.Errorf("%s: got %s (%s), want %s", text, got.For, got.Invalid, want)
		}
	}
	for what, got := range map[string]group.Delay{
		"nothing": contract.Delay(nil), "no URL": delay("1h", ""), "no URL and no duration": delay("x", ""), "a URL alone": delay("", url),
		"0": delay("0", url), "0s": delay("0s", url), "0h0m": delay("0h0m", url), "0 with an invalid URL": delay("0", "x"),
	} {
		if got != (group.Delay{}) {
			t.Errorf("%s: got %+v, want no delay", what, got)
		}
	}
	for _, text := range []string{
		"x", " 1h", "1h ", "1", "00", "h", "1.5h", "-1h", "+1h", "1h1h", "1m1h", "1s1m", "1ms1s", "1H", "1 h", "1h 30m", "1hour", "1us", "1h30",
		"300y", "9223372036854775808ms", "9223372036854775807s", "292y52w365d", "99999999999999999999y", "１h", "1h\n",
	} {
		got := delay(text, url)
		if got.For != 0 || !strings.Contains(got.Invalid, contract.DelayAnnotation) || strings.Contains(got.Invalid, "\n") {
			t.Errorf("%q: got %+v, want that it is invalid", text, got)
		}
	}
}

func TestOfAURLOnlySchemePortPathAndQueryAreTaken(t *testing.T) {
	for url, want := range map[string]group.Call{
		"http://pod:8080/ingester/prepare?x=y": {Port: 8080, Path: "/ingester/prepare?x=y"},
		"http://pod/x":                         {Port: 80, Path: "/x"},
		"https://pod/x":                        {TLS: true, Port: 443, Path: "/x"},
		"HTTPS://pod:8443/x":                   {TLS: true, Port: 8443, Path: "/x"},
		"http://pod":                           {Port: 80, Path: "/"},
		"http://pod:":                          {Port: 80, Path: "/"},
		"http://pod?x":                         {Port: 80, Path: "/?x"},
		"http:///x":                            {Port: 80, Path: "/x"},
		"http://:81/x":                         {Port: 81, Path: "/x"},
		"http://somebody:secret@host:82/x":     {Port: 82, Path: "/x"},
		"http://a@b@host:82/x":                 {Port: 82, Path: "/x"},
		"http://10.9.9.9:83@host/x":            {Port: 80, Path: "/x"},
		"http://[::1]/x":                       {Port: 80, Path: "/x"},
		"http://[fd00::1]:84/x":                {Port: 84, Path: "/x"},
		"http://somebody:[x]@[fd00::1]:84/x":   {Port: 84, Path: "/x"},
		"http://pod//a///x//?b=//c":            {Port: 80, Path: "/a/x/?b=//c"},
		"http://pod/x#part":                    {Port: 80, Path: "/x"},
		"http://pod#/x":                        {Port: 80, Path: "/"},
		`http://169.254.169.254\evil/x`:        {Port: 80, Path: "/x"},
	} {
		got := delay("1h", url)
		if diff := cmp.Diff(group.Delay{For: time.Hour, Call: want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
		if !contract.CallOf(got.Call).Valid() {
			t.Errorf("%s: %+v is no call that can be made", url, got.Call)
		}
	}
}

func TestAURLThatCannotBeCalledIsInvalid(t *testing.T) {
	const said = "annotation grafana.com/rollout-prepare-delayed-downscale-url is "
	for url, want := range map[string]string{
		"pod:8080/x":               `"pod:8080/x", which begins neither with http:// nor with https://`,
		"/x":                       `"/x", which begins neither with http:// nor with https://`,
		"ftp://pod/x":              `"ftp://pod/x", which begins neither with http:// nor with https://`,
		"http:/pod/x":              `"http:/pod/x", which begins neither with http:// nor with https://`,
		" http://pod/x":            `" http://pod/x", which begins neither with http:// nor with https://`,
		"http://pod:0/x":           `"http://pod:0/x", which has no valid port`,
		"http://pod:http/x":        `"http://pod:http/x", which has no valid port`,
		"http://pod:65536/x":       `"http://pod:65536/x", which has no valid port`,
		"http://fd00::1/x":         `"http://fd00::1/x", which has no valid port`,
		"http://pod:80:81/x":       `"http://pod:80:81/x", which has no valid port`,
		"http://pod/http://host/x": `"http://pod/http://host/x", which has a path that names a host`,
		"http://pod/../x":          `"http://pod/../x", which has a path that has a . or .. segment`,
		"http://pod/x@host":        `"http://pod/x@host", which has a path that has "@" at position 3`,
		"http://pod/x%0d%0aHost:y": `"http://pod/x%0d%0aHost:y", which has a path that encodes a control character at position 3`,
		"http://pod/x y":           `"http://pod/x y", which has a path that has " " at position 3`,
		"http://pod/" + strings.Repeat("x", 1025): `"http://pod/` + strings.Repeat("x", 28) + `..., which has a path that is longer than 1024 characters`,
		"http://" + strings.Repeat("x", 2000):     `"http://` + strings.Repeat("x", 32) + `..., which is longer than 1536 characters`,
	} {
		got := delay("1h", url)
		if got.For != 0 || got.Invalid != said+want+": must be a URL such as http://pod:8080/prepare-downscale" {
			t.Errorf("%s:\n got %s\nwant %s%s: must be ...", url, got.Invalid, said, want)
		}
	}
	if both := delay("x", "y").Invalid; strings.Count(both, "annotation") != 2 {
		t.Errorf("the message is incomplete: %s", both)
	}
}

func FuzzDelay(f *testing.F) {
	for _, url := range []string{"http://pod:8080/x?y=z", "https://a:b@[::1]:1/%2e", "http://:0", "http://"} {
		f.Add("1h", url)
	}
	f.Fuzz(func(t *testing.T, span, url string) {
		d := delay(span, url)
		if d.For < 0 || (d.For > 0) != (d.Call != group.Call{}) || d.For > 0 && d.Invalid != "" {
			t.Errorf("%+v is neither a delay nor invalid", d)
		}
		if d.For > 0 && !contract.CallOf(d.Call).Valid() {
			t.Errorf("%+v is no call that can be made", d.Call)
		}
	})
}
