package main

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// The plugin is built as make builds it, and agrees with krew's manifest.
func TestThePluginIsBuiltForEveryPlatform(t *testing.T) {
	if os.Getenv("LOCKSTEP_IMAGE") != "check" {
		t.Skip("SKIPPED, NOT PROVED: set LOCKSTEP_IMAGE=check to build the plugin for every platform (make image-check), which takes minutes")
	}
	for platform, name := range platforms {
		t.Run(platform, func(t *testing.T) {
			folder := t.TempDir()
			command := exec.CommandContext(t.Context(), "sh", "-c", builds(t, platform, folder))
			command.Dir = root
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			program := filepath.Join(folder, name)
			if got := platformOf(t, program); got != platform {
				t.Errorf("it is for %s", got)
			}
			if platform == runtime.GOOS+"_"+runtime.GOARCH {
				works(t, program)
			}
		})
	}
}

// builds returns the command by which make builds the plugin for a platform, into a folder.
func builds(t *testing.T, platform, folder string) string {
	t.Helper()
	system, processor, _ := strings.Cut(platform, "_")
	command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-n", "build", "GO=go", "VERSION=v1.2.3", "TARGETOS="+system, "TARGETARCH="+processor)
	command.Dir = root
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") }) // as if make had not started this process
	line, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	const everything = "-o bin/ ./cmd/..."
	if !strings.Contains(string(line), everything) {
		t.Fatalf("make build is another one: %s", line)
	}
	return strings.Replace(string(line), everything, "-o "+folder+"/ ./cmd/kubectl-lockstep", 1)
}

// platformOf returns the platform of a program.
func platformOf(t *testing.T, program string) string {
	t.Helper()
	if f, err := elf.Open(program); err == nil {
		defer func() { _ = f.Close() }() // only read
		return map[elf.Machine]string{elf.EM_X86_64: "linux_amd64", elf.EM_AARCH64: "linux_arm64"}[f.Machine]
	}
	if f, err := macho.Open(program); err == nil {
		defer func() { _ = f.Close() }() // only read
		return map[macho.Cpu]string{macho.CpuAmd64: "darwin_amd64", macho.CpuArm64: "darwin_arm64"}[f.Cpu]
	}
	f, err := pe.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	return map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "windows_amd64", pe.IMAGE_FILE_MACHINE_ARM64: "windows_arm64"}[f.Machine]
}

func works(t *testing.T, program string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "v1.2.3") {
		t.Errorf("%v: %s", err, out)
	}
}
