package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The words are in testdata/vocabulary.txt. Code, quotes and names are not searched: they may contain the words of a
// notation, of an API or of other programs. Decision records keep the words of their time.
func TestTextsUseTheVocabulary(t *testing.T) {
	words := vocabulary(t)
	for _, file := range texts(t) {
		lines := proseOf(t, file)
		for n, line := range lines {
			for word, instead := range words {
				if word.MatchString(line) {
					t.Errorf("%s:%d: %q: %s", strings.TrimPrefix(file, root), n+1, word.FindString(line), instead)
				}
			}
		}
	}
}

// vocabulary returns what to write instead of each word.
func vocabulary(t *testing.T) map[*regexp.Regexp]string {
	t.Helper()
	file, err := os.ReadFile("testdata/vocabulary.txt")
	if err != nil {
		t.Fatal(err)
	}
	words := map[*regexp.Regexp]string{}
	for line := range strings.Lines(string(file)) {
		word, instead, is := strings.Cut(strings.TrimSpace(line), ": ")
		if is && !strings.HasPrefix(line, "#") {
			words[regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(word)+`\b`)] = instead
		}
	}
	if len(words) == 0 {
		t.Fatal("the vocabulary is empty")
	}
	return words
}

// texts returns the files that people read: documents, scenarios, and sources for their comments.
func texts(t *testing.T) []string {
	t.Helper()
	files := []string{filepath.Join(root, "README.md")}
	for _, folder := range []string{"docs", "cmd", "internal", "integration-tests"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "adr":
				return filepath.SkipDir
			case strings.HasSuffix(path, ".md"), isScenario(path), strings.HasSuffix(path, ".go") && !strings.Contains(path, "zz_generated"):
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func isScenario(path string) bool { return strings.Contains(path, "testdata/scenarios/") }

// proseOf returns the prose in each line of a file. In a source, only comments contain prose; in a scenario, comments
// and the name of the file.
func proseOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(file, ".go") {
		return commentsOf(t, file, text)
	}
	if isScenario(file) {
		return commentsOfScenario(file, string(text))
	}
	var lines []string
	fenced := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if fenced {
			line = ""
		}
		lines = append(lines, prose(line))
	}
	return lines
}

// commentsOfScenario returns the comments of a scenario. The first one follows the name of the file.
func commentsOfScenario(file, text string) []string {
	lines := []string{strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".txt"), "-", " ") + ": "}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			return lines
		}
		lines[len(lines)-1] += prose(line)
		lines = append(lines, "")
	}
	return lines
}

func commentsOf(t *testing.T, file string, text []byte) []string {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, strings.Count(string(text), "\n")+1)
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			first := files.Position(comment.Pos()).Line - 1
			for n, line := range strings.Split(comment.Text, "\n") {
				if !strings.HasPrefix(line, "//\t") { // such a line shows code
					lines[first+n] = prose(line)
				}
			}
		}
	}
	names := map[string]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is {
			names[id.Name] = true
		}
		return true
	})
	for i, line := range lines {
		if line != "" {
			lines[i] = withoutNames(line, names)
		}
	}
	return lines
}

var notProse = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|\\([^()]*\\.md[^()]*\\)")

// prose returns a line without code, quotes and targets of links.
func prose(line string) string { return notProse.ReplaceAllString(line, "") }

var wordInText = regexp.MustCompile(`\b[A-Za-z]+\b`)

// withoutNames returns a comment without the names that its file declares or uses.
func withoutNames(line string, names map[string]bool) string {
	return wordInText.ReplaceAllStringFunc(line, func(word string) string {
		if names[word] {
			return ""
		}
		return word
	})
}
