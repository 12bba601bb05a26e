package contract

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Delay parses the delay of downscales and the call that notifies pods of it. Both annotations are required:
// if one of them is missing, or the delay is 0, no downscale is delayed and no pod is notified.
//
// Only the scheme, port, path and query of the URL count. Host, user and fragment are ignored, whatever their
// values.
func Delay(annotations map[string]string) group.Delay {
	span, where := annotations[DelayAnnotation], annotations[DelayURLAnnotation]
	if span == "" || where == "" {
		return group.Delay{}
	}
	d, spanErr := prometheusDuration(span)
	if spanErr == nil && d == 0 {
		return group.Delay{}
	}
	call, whereErr := callAt(where)
	var wrong []string
	if spanErr != nil {
		wrong = append(wrong, fmt.Sprintf("annotation %s is %s, which %v: must be a duration such as 1h30m or 2d", DelayAnnotation, shorten(span), spanErr))
	}
	if whereErr != nil {
		wrong = append(wrong, fmt.Sprintf("annotation %s is %s, which %v: must be a URL such as http://pod:8080/prepare-downscale", DelayURLAnnotation, shorten(where), whereErr))
	}
	if len(wrong) > 0 {
		return group.Delay{Invalid: strings.Join(wrong, "; ")}
	}
	return group.Delay{For: d, Call: group.Call{TLS: call.TLS, Port: call.Port, Path: call.RequestURI()}}
}

// units are the units of Prometheus durations, in the only valid order.
var units = []struct {
	name string
	long time.Duration
}{
	{"y", 365 * 24 * time.Hour}, {"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour},
	{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond},
}

// prometheusDuration parses "0", or whole numbers with units: each unit at most once, longer units first.
func prometheusDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	var sum time.Duration
	next := 0 // the index of the longest unit that may follow
	for text != "" {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		letters := len(text) - digits - len(strings.TrimLeft(text[digits:], "ywdhms"))
		unit := unitOf(text[digits:digits+letters], next)
		if digits == 0 || unit < 0 {
			return 0, errors.New("is not a duration")
		}
		n, err := strconv.ParseInt(text[:digits], 10, 64)
		long := units[unit].long
		if err != nil || n > (math.MaxInt64-int64(sum))/int64(long) {
			return 0, errors.New("is too long")
		}
		sum += time.Duration(n) * long
		text, next = text[digits+letters:], unit+1
	}
	return sum, nil
}

// unitOf returns the index of a unit that is at least from, or -1 if there is none.
func unitOf(name string, from int) int {
	for i := from; i < len(units); i++ {
		if units[i].name == name {
			return i
		}
	}
	return -1
}

// callAt parses a URL and ignores its host.
func callAt(text string) (Call, error) {
	const longest = mostPath + 512
	scheme, rest, absolute := strings.Cut(text, "://")
	call := Call{Port: 80}
	switch {
	case len(text) > longest:
		return Call{}, fmt.Errorf("is longer than %d characters", longest)
	case absolute && strings.EqualFold(scheme, "http"):
	case absolute && strings.EqualFold(scheme, "https"):
		call.TLS, call.Port = true, 443
	default:
		return Call{}, errors.New("begins neither with http:// nor with https://")
	}
	rest, _, _ = strings.Cut(rest, "#")
	host, path := rest, ""
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		host, path = rest[:end], rest[end:]
	}
	if port := portIn(host); port != "" {
		var err error
		if call.Port, err = callPort(port); err != nil {
			return Call{}, errors.New("has no valid port")
		}
	}
	if path == "" {
		path = "/"
	}
	var err error
	if call.Path, call.Query, err = callPath(path); err != nil {
		return Call{}, fmt.Errorf("has a path that %w", wrongPath(path))
	}
	return call, nil
}

// portIn returns the port after the host of a URL. The host may be an IPv6 address in brackets, with a user
// before it.
func portIn(host string) string {
	host = host[strings.LastIndexByte(host, '@')+1:]
	host = host[strings.LastIndexByte(host, ']')+1:]
	_, port, _ := strings.Cut(host, ":")
	return port
}
