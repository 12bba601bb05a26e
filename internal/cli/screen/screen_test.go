package screen_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
)

func TestCleanEscapesControlCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"zone-a":                           "zone-a",
		"":                                 "",
		"ingester-ü-日本":                    "ingester-ü-日本",
		"\x1b[31mred":                      `\x1b[31mred`,
		"a\nb\tc":                          "a b c",
		"\u009b2J":                         `\u009b2J`,
		"\u202eevil":                       `\u202eevil`,
		"zero\u200bwidth":                  `zero\u200bwidth`,
		"\xff\xfe":                         `\xff\xfe`,
		"\x00":                             `\x00`,
		"e\u0301":                          "e\u0301",
		"e" + strings.Repeat("\u0301", 99): "e\u0301\u0301\u0301",
		strings.Repeat("x", 1001):          strings.Repeat("x", 1000) + "…",
	} {
		if got := screen.Clean(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzTextIsPrintable(f *testing.F) {
	f.Add("\x1b[2J")
	f.Add("日本\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := screen.Clean(text)
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Errorf("%q: %U is not printed", text, r)
			}
		}
		if again := screen.Clean(got); again != got && len(got) <= 1000 {
			t.Errorf("%q: cleaned twice it is %q, once %q", text, again, got)
		}
	})
}

func TestColumnsFitTheirWidestCell(t *testing.T) {
	rows := [][]screen.Piece{
		{screen.Text("zone-日本"), screen.Count(1), screen.Text("short")},
		{screen.Text("a"), screen.In(screen.Bad, "12345"), screen.Text("this one goes beyond the end of the screen")},
	}
	plain := screen.Page{}
	plain.Table(2, []string{"ZONE", "N", "WHY"}, rows)
	if got, want := plain.String(), "  ZONE       N      WHY\n  zone-日本  1      short\n  a          12345  this one goes beyond the end of the screen\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	narrow := screen.Page{Style: screen.Style{Colours: true, Columns: 40}}
	narrow.Table(2, []string{"ZONE", "N", "WHY"}, rows)
	for _, line := range narrow.Lines() {
		if bare := strings.NewReplacer("\x1b[0m", "", "\x1b[2m", "", "\x1b[31m", "").Replace(line); screen.Width(bare) > 40 {
			t.Errorf("%q has %d columns", bare, screen.Width(bare))
		}
	}
}

func TestBars(t *testing.T) {
	eyes := screen.Style{Bars: true}
	for got, want := range map[screen.Piece]string{
		screen.Style{}.Bar(3, 4): "3/4",
		eyes.Bar(3, 4):           "█████████░░░ 3/4",
		eyes.Bar(0, 4):           "░░░░░░░░░░░░ 0/4",
		eyes.Bar(0, 0):           "████████████ 0/0",
		eyes.Bar(9, 4):           "████████████ 9/4",
		eyes.Bar(-1, 4):          "░░░░░░░░░░░░ -1/4",
		screen.TimeBar(0, time.Minute, 2*time.Minute):               "██████████··········",
		screen.TimeBar(time.Minute, 2*time.Minute, 2*time.Minute):   "··········██████████",
		screen.TimeBar(2*time.Minute, 2*time.Minute, 2*time.Minute): "···················█",
		screen.TimeBar(0, 0, 0):                                     "█···················",
	} {
		var p screen.Page
		p.Line(got)
		if p.String() != want+"\n" {
			t.Errorf("got %q, want %q", p.String(), want)
		}
	}
}

func TestColoursAreUsedOnlyOnTerminals(t *testing.T) {
	coloured := screen.Page{Style: screen.Style{Colours: true}}
	coloured.Line(screen.In(screen.Bad, "bad"), screen.Text("plain"))
	if got := coloured.String(); got != "\x1b[31mbad\x1b[0m plain\n" {
		t.Errorf("got %q", got)
	}
	if got := screen.StyleOf(&strings.Builder{}, func(string) string { return "" }); got != (screen.Style{}) {
		t.Errorf("an output that is not a terminal gets %+v", got)
	}
}

func TestLongTextIsWrappedAtTheScreenWidth(t *testing.T) {
	p := screen.Page{Style: screen.Style{Columns: 30}}
	p.Indented(2, screen.Text("a container of the pod cannot run at all"))
	if got, want := p.String(), "  a container of the pod\n  cannot run at all\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSpansAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 1499 * time.Millisecond: "1s", 90 * time.Second: "1m30s", 12*time.Minute + time.Second: "12m",
		3*time.Hour + 20*time.Minute: "3h20m", 25 * time.Hour: "25h", 24 * time.Hour: "24h", 5 * 24 * time.Hour: "5d",
	} {
		if got := screen.Span(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
