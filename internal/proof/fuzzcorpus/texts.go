package fuzzcorpus

import "strings"

// Texts returns texts that a tenant may write into free-text fields: terminal escapes,
// texts that end a line, a field or a quotation, texts that are displayed in another
// order or across several lines, and very long texts.
func Texts() []string {
	return []string{
		"\x1b[2J\x1b]0;owned\x07", "\u009b2J", "a\r\nb\tc", "\u202eevil\u202c", "z\u200bero", "Z" + strings.Repeat("\u0300", 500),
		"\xff\xfe", `"'` + "`$(reboot)", `{"level":"error"}`, "# HELP forged\nforged 1\n", "日本語のなまえ", "👩\u200d👩\u200d👧\u200d👦", "\x00", "{{.}} %s %!d",
		strings.Repeat("läng ", 33<<10), // about 200 KB, with 2-byte letters
	}
}
