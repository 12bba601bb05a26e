package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cluster is a number of members that know each other.
type cluster map[string]string // their addresses by their names

// adds adds a member with an empty folder.
func (c cluster) adds(t *testing.T, name string) {
	t.Helper()
	j, err := openJournal(t.TempDir(), name)
	if err != nil {
		t.Fatal(err)
	}
	s := &store{name: name, journal: j, others: func(context.Context) (map[string]string, error) {
		others := map[string]string{}
		for other, address := range c {
			if other != name {
				others[other] = address
			}
		}
		return others, nil
	}}
	server := httptest.NewServer((&member{store: s}).handler())
	t.Cleanup(server.Close)
	c[name] = server.URL
}

func TestAStoreFindsWhatItAcknowledgedAfterMembersAreLost(t *testing.T) {
	t.Parallel()
	c := cluster{}
	for _, name := range []string{"a", "b", "c", "d"} {
		c.adds(t, name)
	}
	const values = 50
	for i := range values {
		if _, err := call(t.Context(), http.MethodPut, c["a"]+fmt.Sprintf("/values/%d", i), fmt.Sprint("value ", i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, lost := range []string{"b", "c", "a"} {
		delete(c, lost)
		c.adds(t, "instead of "+lost)
		for name := range c {
			if names, err := call(t.Context(), http.MethodPost, c[name]+"/pull", ""); err != nil || len(strings.Split(strings.TrimSpace(names), "\n")) != len(c) {
				t.Fatalf("%s takes values from %q, %v", name, names, err)
			}
		}
	}
	for i := range values {
		if got, err := call(t.Context(), http.MethodGet, c["d"]+fmt.Sprintf("/values/%d", i), ""); err != nil || got != fmt.Sprint("value ", i) {
			t.Errorf("value %d is %q, %v", i, got, err)
		}
	}
}

func TestAStoreAcknowledgesNothingThatOneMemberHas(t *testing.T) {
	t.Parallel()
	c := cluster{"lost": "http://127.0.0.1:1"}
	c.adds(t, "a")
	if _, err := call(t.Context(), http.MethodPut, c["a"]+"/values/1", "value"); err == nil {
		t.Error("it acknowledges a value")
	}
	if _, err := call(t.Context(), http.MethodPost, c["a"]+"/pull", ""); err == nil {
		t.Error("it has taken values from a member that does not answer")
	}
	if _, err := call(t.Context(), http.MethodGet, c["a"]+"/values/2", ""); err == nil {
		t.Error("it finds a value that was never written")
	}
}

func TestAKeyHasAsManyOwnersAsCopiesAndFewMove(t *testing.T) {
	t.Parallel()
	before := []string{"a", "b", "c", "d"}
	for key := range 100 {
		was, is := owners(fmt.Sprint(key), before), owners(fmt.Sprint(key), append(before, "e"))
		gone := slices.DeleteFunc(slices.Clone(was), func(name string) bool { return slices.Contains(is, name) })
		if len(is) != copies || len(gone) > 1 || len(gone) == 1 && !slices.Contains(is, "e") {
			t.Errorf("%d was owned by %q, and is by %q", key, was, is)
		}
	}
}

func TestAJournalKeepsItsValuesOverCrashes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	j := mustOpenJournal(t, folder)
	if err := j.add(map[string]string{"1": "a b\nc"}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.file.WriteString(`2 "half`); err != nil {
		t.Fatal(err)
	}
	if err := mustOpenJournal(t, folder).add(map[string]string{"3": "d"}); err != nil {
		t.Fatal(err)
	}
	j = mustOpenJournal(t, folder)
	if value, _ := j.get("1"); len(j.all()) != 2 || value != "a b\nc" {
		t.Errorf("it has %q", j.all())
	}
	if err := j.add(map[string]string{"3": "another"}); err == nil {
		t.Error("it changes a value")
	}
}

func mustOpenJournal(t *testing.T, folder string) *journal {
	t.Helper()
	j, err := openJournal(folder, "a")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestNoMemberUsesTheDataOfAnother(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	mustOpenJournal(t, folder)
	if _, err := openJournal(folder, "b"); err == nil {
		t.Error("it does")
	}
	if err := os.WriteFile(filepath.Join(folder, "journal"), []byte("no line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(folder, "a"); err == nil {
		t.Error("it opens a journal that it cannot read")
	}
}
