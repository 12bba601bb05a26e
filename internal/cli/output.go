package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
)

// Output formats.
const (
	formTable = ""
	formJSON  = "json"
	formYAML  = "yaml"
)

// checkForm returns an error if the format does not exist.
func checkForm(form string) error {
	switch form {
	case formTable, formJSON, formYAML:
		return nil
	}
	return fmt.Errorf("-o %s is unknown; accepted: json, yaml, or nothing for a table", form)
}

// encoded returns an answer as JSON or YAML. Characters that a terminal could interpret as a command
// are escaped.
func encoded(form string, answer any) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(answer); err != nil {
		return "", fmt.Errorf("encode answer: %w", err)
	}
	if form == formJSON {
		return escaped(b.String()), nil
	}
	var plain any
	decoder := json.NewDecoder(&b)
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		return "", fmt.Errorf("encode answer: %w", err)
	}
	text, err := yaml.Marshal(cleaned(plain))
	if err != nil {
		return "", fmt.Errorf("encode answer: %w", err)
	}
	return string(text), nil
}

// escaped replaces characters that are not printable by JSON escapes.
func escaped(document string) string {
	var b strings.Builder
	for _, r := range document {
		switch {
		case r == '\n' || strconv.IsPrint(r):
			b.WriteRune(r)
		case r < 1<<16:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

// cleaned returns a document whose texts are safe for a terminal. YAML has no escapes in unquoted
// texts.
func cleaned(document any) any {
	switch d := document.(type) {
	case string:
		if utf8.ValidString(d) && strings.IndexFunc(d, unprinted) < 0 {
			return d
		}
		return screen.Clean(d)
	case []any:
		for i := range d {
			d[i] = cleaned(d[i])
		}
	case map[string]any:
		fit := make(map[string]any, len(d))
		for key, value := range d {
			fit[screen.Clean(key)] = cleaned(value)
		}
		return fit
	case json.Number:
		if n, err := d.Int64(); err == nil {
			return n
		}
	}
	return document
}

func unprinted(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }
