package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/klog/v2"

	"github.com/lockstep-dev/lockstep/internal/proof/fuzzcorpus"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// spoken returns a context with a span that the tests know.
func spoken(t *testing.T) context.Context {
	t.Helper()
	return trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0xab, 15: 1}, SpanID: trace.SpanID{0xcd, 7: 2}, TraceFlags: trace.FlagsSampled,
	}))
}

func newLogger(t *testing.T, format, level string) (*logrus.Logger, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	log, err := telemetry.NewLogger(format, level, &out)
	if err != nil {
		t.Fatal(err)
	}
	return log, &out
}

func TestALineOfLog(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 7_000_000, time.FixedZone("CET", 3600))
	for name, tc := range map[string]struct {
		format string
		fields logrus.Fields
		msg    string
		traced bool
		want   string
	}{
		"logfmt has time, level and message first": {
			format: "logfmt", msg: "hello", fields: logrus.Fields{"zone": "zone-a", "budget": 2},
			want: "ts=\"2026-02-03T03:05:06.007Z\" level=info msg=hello budget=2 zone=zone-a\n",
		},
		"json has the same names": {
			format: "json", msg: "hello", fields: logrus.Fields{"zone": "zone-a"},
			want: `{"level":"info","msg":"hello","ts":"2026-02-03T03:05:06.007Z","zone":"zone-a"}` + "\n",
		},
		"a span in the context is named": {
			format: "logfmt", msg: "hello", traced: true,
			want: "ts=\"2026-02-03T03:05:06.007Z\" level=info msg=hello span_id=cd00000000000002 trace_id=ab000000000000000000000000000001\n",
		},
		"a value cannot begin a new line or field": {
			format: "logfmt", msg: "a\nlevel=error msg=forged", fields: logrus.Fields{"group": "x\" zone=y\r\n\x1b[31m", "empty": "", "err": errors.New("a b=c")},
			want: `ts="2026-02-03T03:05:06.007Z" level=info msg="a\nlevel=error msg=forged" empty="" err="a b=c" group="x\" zone=y\r\n\x1b[31m"` + "\n",
		},
		"a key cannot either": {
			format: "logfmt", msg: "hello", fields: logrus.Fields{"a=b\nlevel": 1, "": 2},
			want: "ts=\"2026-02-03T03:05:06.007Z\" level=info msg=hello _=2 a_b_level=1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			log, out := newLogger(t, tc.format, "info")
			entry := log.WithFields(tc.fields).WithTime(at)
			if tc.traced {
				entry = entry.WithContext(spoken(t))
			}
			entry.Info(tc.msg)
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		})
	}
}

// Text from tenants stays on one line. A terminal shows it but does not interpret it, and
// programs can parse the original text.
func TestHostileTextsBreakNoLine(t *testing.T) {
	for _, text := range fuzzcorpus.Texts() {
		for _, format := range []string{"json", "logfmt"} {
			log, out := newLogger(t, format, "info")
			log.WithField("holder", text).WithError(errors.New(text)).Info(text)
			line, rest, _ := strings.Cut(out.String(), "\n")
			if rest != "" || strings.ContainsFunc(line, func(r rune) bool { return !strconv.IsPrint(r) }) {
				t.Errorf("%s of %.20q: %.200q", format, text, out.String())
			}
			var entry struct{ Msg, Holder, Error string }
			want := strings.ToValidUTF8(text, "\uFFFD")
			if format != "json" {
				continue
			}
			if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Holder != text && !strings.Contains(text, "\xff") || len(entry.Msg) < len(want) || entry.Error == "" {
				t.Errorf("%.20q: %v: %.200q", text, err, line)
			}
		}
	}
}

func TestTheLevelFilters(t *testing.T) {
	log, out := newLogger(t, "logfmt", "warn")
	log.Info("quiet")
	log.Warn("loud")
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, "loud") {
		t.Errorf("got %q, want the warning alone", got)
	}
}

func TestAnUnknownFormatOrLevelIsRefused(t *testing.T) {
	for _, tc := range []struct{ format, level, want string }{
		{"xml", "info", `parse log format "xml": want logfmt or json`},
		{"json", "loud", `parse log level "loud": want debug, info, warn or error`},
	} {
		_, err := telemetry.NewLogger(tc.format, tc.level, nil)
		if err == nil || err.Error() != tc.want {
			t.Errorf("format %s, level %s: got error %v, want %s", tc.format, tc.level, err, tc.want)
		}
	}
}

func TestLibrariesWriteIntoTheSameLog(t *testing.T) {
	log, out := newLogger(t, "json", "info")
	telemetry.RouteLibraryLogs(log)
	t.Cleanup(klog.ClearLogger)

	klog.Infof("watch of %s\nended", "pods")
	klog.ErrorS(errors.New("no route"), "reflector", "kind", "Pod")
	klog.V(1).Info("chatter")
	otel.Handle(errors.New("collector is away"))
	otel.Handle(errors.New("collector is away"))

	var got []map[string]any
	for line := range strings.Lines(out.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%q is no line of JSON: %v", line, err)
		}
		if ts, _ := entry["ts"].(string); !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(ts) {
			t.Errorf("time %q is not in UTC with milliseconds", ts)
		}
		delete(entry, "ts")
		got = append(got, entry)
	}
	want := []map[string]any{
		{"level": "info", "component": "client-go", "msg": "watch of pods\nended"},
		{"level": "error", "component": "client-go", "msg": "reflector", "kind": "Pod", "error": "no route"},
		{"level": "warning", "component": "opentelemetry", "msg": "telemetry error", "error": "collector is away"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
