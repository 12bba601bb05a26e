package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A doc comment that begins with another name was not updated by a rename.
func TestDocCommentsBeginWithTheDeclaredName(t *testing.T) {
	for _, folder := range []string{"cmd", "internal", "integration-tests"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, declared := range parsed.Decls {
				name, comment := documented(declared)
				if comment != "" && !beginsWith(comment, name) {
					t.Errorf("%s: %s is documented as %q", files.Position(declared.Pos()), name, firstWord(comment))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// documented returns the name and the doc comment of a function or of a single type.
func documented(d ast.Decl) (name, comment string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name, d.Doc.Text()
	case *ast.GenDecl:
		if d.Tok == token.TYPE && len(d.Specs) == 1 {
			return d.Specs[0].(*ast.TypeSpec).Name.Name, d.Doc.Text() //nolint:errcheck // the token says so
		}
	}
	return "", ""
}

// beginsWith reports whether a comment begins with a name, also as the subject of a sentence in the plural.
func beginsWith(comment, name string) bool {
	first := firstWord(comment)
	return strings.TrimRight(first, ",:;.'s") == strings.TrimRight(name, "s")
}

// firstWord returns the first word of a comment after an article.
func firstWord(comment string) string {
	words := strings.Fields(comment)
	if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	return words[0]
}
