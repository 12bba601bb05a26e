package certs_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/lockstep-dev/lockstep/internal/serve/certs"
)

// folder contains the files of a certificate.
type folder struct {
	*testing.T
	dir   string
	files *certs.Files
	lines *logtest.Hook

	changed int
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// fill writes the data of a Secret into files.
func (f *folder) fill(data map[string][]byte) {
	f.Helper()
	for name, text := range data {
		if err := os.WriteFile(f.path(name), text, 0o600); err != nil {
			f.Fatal(err)
		}
	}
}

func (f *folder) serial() string {
	f.Helper()
	served, err := f.files.GetCertificate(nil)
	if err != nil {
		f.Fatal(err)
	}
	return served.Leaf.SerialNumber.String()
}

// inFolder runs a test while Files reload a folder.
func inFolder(t *testing.T, test func(*folder, func() map[string][]byte)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		log, lines := logtest.NewNullLogger()
		o := &cluster{T: t, ctx: ctx, log: log}
		f := &folder{T: t, dir: dir, lines: lines}
		f.fill(made(o))
		var err error
		f.files, err = certs.NewFiles(certs.FileOptions{
			Cert: f.path("cert"), Key: f.path("key"), CA: f.path("ca"), Log: log, Changed: func() { f.changed++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		go f.files.Run(ctx)
		test(f, func() map[string][]byte { return made(o) })
		stop()
		synctest.Wait()
	})
}

func TestFilesAreReloadedWhenTheirContentChanges(t *testing.T) {
	inFolder(t, func(f *folder, made func() map[string][]byte) {
		first := f.serial()
		next := made()
		f.fill(next)
		time.Sleep(soon)
		if f.serial() == first || f.changed != 1 || !bytes.Equal(f.files.Bundle(), next["ca"]) {
			f.Errorf("the former one is served, or the CA has changed %d times", f.changed)
		}
	})
}

func TestInvalidFilesKeepThePreviousCertificate(t *testing.T) {
	for sentence, spoil := range map[string]func(data map[string][]byte) map[string][]byte{
		"garbage":        func(map[string][]byte) map[string][]byte { return map[string][]byte{"cert": []byte("garbage")} },
		"an empty file":  func(map[string][]byte) map[string][]byte { return map[string][]byte{"key": nil} },
		"another's key":  func(d map[string][]byte) map[string][]byte { return map[string][]byte{"key": d["key"]} },
		"another's CA":   func(d map[string][]byte) map[string][]byte { return map[string][]byte{"ca": d["ca"]} },
		"no certificate": func(map[string][]byte) map[string][]byte { return map[string][]byte{"ca": []byte("# none")} },
	} {
		t.Run(sentence, func(t *testing.T) {
			inFolder(t, func(f *folder, made func() map[string][]byte) {
				first, good := f.serial(), made()
				f.fill(spoil(good))
				time.Sleep(time.Minute)
				if f.serial() != first || f.files.Ready() != nil || f.files.RenewalError() == nil {
					f.Errorf("ready %v, trouble %v", f.files.Ready(), f.files.RenewalError())
				}
				if n := len(f.lines.AllEntries()); !strings.Contains(f.lines.LastEntry().Message, "still served") {
					f.Errorf("the last of %d lines says %q", n, f.lines.LastEntry().Message)
				}
				f.fill(good)
				time.Sleep(soon)
				if f.serial() == first || f.files.RenewalError() != nil {
					f.Errorf("the corrected certificate is not served: %v", f.files.RenewalError())
				}
			})
		})
	}
}

func TestNewFilesFailsIfFilesAreInvalid(t *testing.T) {
	_, err := certs.NewFiles(certs.FileOptions{Cert: filepath.Join(t.TempDir(), "missing"), Key: "also"})
	if err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("got %v, want the file named", err)
	}
}

func TestExpiredFilesAreNotReady(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		log, _ := logtest.NewNullLogger()
		f := &folder{T: t, dir: dir}
		f.fill(made(&cluster{T: t, ctx: ctx, log: log}))
		stop()
		synctest.Wait()
		slow := time.Hour // by which the API server's clock is behind this machine's
		files, err := certs.NewFiles(certs.FileOptions{
			Cert: f.path("cert"), Key: f.path("key"), CA: f.path("ca"), Log: log, Now: func() time.Time { return time.Now().Add(-slow) },
		})
		if err != nil || files.Ready() != nil {
			t.Fatal(err, files.Ready())
		}
		time.Sleep(life)
		if err := files.Ready(); err != nil {
			t.Errorf("not ready while clients accept it: %v", err)
		}
		time.Sleep(slow)
		if err := files.Ready(); err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("ready: %v", err)
		}
	})
}
