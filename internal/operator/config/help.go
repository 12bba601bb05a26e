package config

import (
	"fmt"
	"strings"
)

const (
	purpose = "lockstep rolls out groups of StatefulSets, one zone at a time, in every namespace that opts in."

	helpWidth = 96
)

// Help returns the text for -h: all flags by area, with defaults.
func Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage: lockstep [flags]\n", purpose)
	area := ""
	for _, o := range newTable(&Config{}).options {
		if o.area != area {
			area = o.area
			fmt.Fprintf(&b, "\n%s\n", area)
		}
		fmt.Fprintf(&b, "  %s\n", o.usage())
		for _, line := range wrap(plain(o.help), helpWidth-6) {
			fmt.Fprintf(&b, "      %s\n", line)
		}
		if d := plain(o.defaultText()); d != "" && d != "false" {
			fmt.Fprintf(&b, "      Default: %s\n", d)
		}
	}
	fmt.Fprintf(&b, "\n%s", strings.Join(wrap(
		"Every flag can also be set by an environment variable: "+example+"; the flag wins. "+
			"Flags of rollout-operator that have no effect in lockstep are accepted, each with a warning. "+
			"The standard OTEL_* variables configure tracing.", helpWidth), "\n"))
	b.WriteString("\n\nExit codes: 0 after a clean exit, 2 for unusable flags, 1 otherwise.\n")
	return b.String()
}

const example = "-server.port by LOCKSTEP_SERVER_PORT"

// usage returns the flag as a user would type it.
func (o *option) usage() string {
	if o.operand == "" {
		return "-" + o.name
	}
	return "-" + o.name + " " + o.operand
}

// defaultText returns the default as text. It is empty if the default is empty.
func (o *option) defaultText() string {
	if o.shown != "" {
		return o.shown
	}
	if o.standard == "" {
		return ""
	}
	return "`" + o.standard + "`"
}

// Markdown returns docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("<!-- Written by `go test ./internal/operator/config -update`; do not edit. -->\n\n# Configuration\n\n")
	b.WriteString("Flags have Go's syntax: `-name=value` or, except for switches, `-name value`, with one dash or two.\n" +
		"Every flag can also be set by the environment variable beside it. The flag wins, and an empty variable counts as\n" +
		"unset. If flags are unusable, lockstep reports all problems at once and exits with code 2.\n")
	area := ""
	for _, o := range newTable(&Config{}).options {
		if o.area != area {
			area = o.area
			fmt.Fprintf(&b, "\n## %s\n\n| flag | variable | default | meaning |\n|---|---|---|---|\n", area)
		}
		fmt.Fprintf(&b, "| `-%s` | `%s` | %s | %s |\n", o.name, variable(o.name), o.defaultText(), o.help)
	}
	b.WriteString("\n## Tracing\n\n" +
		"lockstep exports traces if `OTEL_TRACES_EXPORTER`, `OTEL_EXPORTER_OTLP_ENDPOINT` or\n" +
		"`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set. Otherwise tracing costs nothing. The other standard `OTEL_*`\n" +
		"variables work as OpenTelemetry specifies, except `OTEL_PROPAGATORS`. `OTEL_SDK_DISABLED=true` disables tracing. [Traces](tracing.md) describes the traces.\n")
	b.WriteString("\n## Accepted and ignored\n\n" +
		"lockstep accepts these flags of rollout-operator with any value and ignores them. Each causes one warning.\n\n| flag | why it has no effect |\n|---|---|\n")
	for _, i := range ignoredFlags {
		fmt.Fprintf(&b, "| `-%s` | %s |\n", i.name, i.why)
	}
	return b.String()
}

func plain(markdown string) string { return strings.ReplaceAll(markdown, "`", "") }

// wrap breaks text into lines of at most width bytes, except for longer words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
