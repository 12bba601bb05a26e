package telemetry

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bombsimon/logrusr/v4"
	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/klog/v2"
)

// timestamps are in UTC and have a fixed width, so that lines sort as text.
const timestamps = "2006-01-02T15:04:05.000Z"

// NewLogger returns a logger that writes one line per entry to out. The format is logfmt or json;
// the level is debug, info, warn or error. If an entry has a context with a span, the line
// contains the span's ids. No key or value can break a line or imitate another field.
func NewLogger(format, level string, out io.Writer) (*logrus.Logger, error) {
	l, err := logrus.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("parse log level %q: want debug, info, warn or error", level)
	}
	f, err := formatter(format)
	if err != nil {
		return nil, err
	}
	log := logrus.New()
	log.SetOutput(out)
	log.SetLevel(l)
	log.SetFormatter(f)
	log.AddHook(spanIDs{})
	return log, nil
}

func formatter(format string) (logrus.Formatter, error) {
	names := logrus.FieldMap{logrus.FieldKeyTime: "ts"}
	switch format {
	case "logfmt":
		return strict{&logrus.TextFormatter{
			DisableColors: true, FullTimestamp: true, QuoteEmptyFields: true,
			TimestampFormat: timestamps, FieldMap: names,
		}}, nil
	case "json":
		return strict{printed{&logrus.JSONFormatter{TimestampFormat: timestamps, FieldMap: names}}}, nil
	}
	return nil, fmt.Errorf("parse log format %q: want logfmt or json", format)
}

// strict writes times in UTC, and removes unsafe characters from keys: logrus quotes values, but
// writes logfmt keys as they are.
type strict struct{ logrus.Formatter }

func (f strict) Format(entry *logrus.Entry) ([]byte, error) {
	e := *entry
	e.Time = entry.Time.UTC()
	for key := range entry.Data {
		if safeKey(key) != key {
			e.Data = safeKeys(entry.Data)
			break
		}
	}
	return f.Formatter.Format(&e)
}

// printed escapes characters in JSON that a terminal would interpret instead of showing them.
// JSON encoders do not escape most of Unicode.
type printed struct{ logrus.Formatter }

func (f printed) Format(entry *logrus.Entry) ([]byte, error) {
	line, err := f.Formatter.Format(entry)
	if err != nil || bytes.IndexFunc(line, unprinted) < 0 {
		return line, err
	}
	escaped := make([]byte, 0, 2*len(line))
	for _, r := range string(line) {
		switch {
		case !unprinted(r):
			escaped = utf8.AppendRune(escaped, r)
		case r < 1<<16:
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		}
	}
	return escaped, nil
}

// unprinted reports whether a rune of a line is not printable.
func unprinted(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }

func safeKeys(data logrus.Fields) logrus.Fields {
	safe := make(logrus.Fields, len(data))
	for key, v := range data {
		safe[safeKey(key)] = v
	}
	return safe
}

func safeKey(key string) string {
	if key == "" {
		return "_"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("_.-/", r):
			return r
		}
		return '_'
	}, key)
}

// spanIDs is the hook that adds the ids of spans to log lines.
type spanIDs struct{}

func (spanIDs) Levels() []logrus.Level { return logrus.AllLevels }

func (spanIDs) Fire(entry *logrus.Entry) error {
	if entry.Context == nil {
		return nil
	}
	if span := trace.SpanContextFromContext(entry.Context); span.IsValid() {
		entry.Data["trace_id"] = span.TraceID().String()
		entry.Data["span_id"] = span.SpanID().String()
	}
	return nil
}

// mostTexts is the maximum number of OpenTelemetry's messages that are remembered.
const mostTexts = 128

// RouteLibraryLogs sends messages of klog (and thus client-go) and of OpenTelemetry to log, for
// the entire process. Call it once, before any client exists. Errors that OpenTelemetry cannot
// report otherwise are logged as warnings, the same text at most once a minute. The same holds
// for permissions that client-go lacks.
func RouteLibraryLogs(log *logrus.Logger) {
	clientGo := log.WithField("component", "client-go")
	rights := missingRights{logrusr.New(clientGo).GetSink(), newSeldom(clientGo, rightAgain, mostTexts)}
	klog.SetLoggerWithOptions(klog.New(rights), klog.ContextualLogger(true))
	component := log.WithField("component", "opentelemetry")
	otel.SetLogger(logrusr.New(component))
	otel.SetErrorHandler(newSeldom(component, time.Minute, mostTexts))
}
