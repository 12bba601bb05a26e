package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/lockstep-dev/lockstep/internal/operator/config"
)

const root = "../.."

// instruction is an instruction of the Dockerfile, such as RUN, with its arguments.
type instruction struct{ name, rest string }

func dockerfile(t *testing.T) []instruction {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var all []instruction
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			name, rest, _ := strings.Cut(line, " ")
			all = append(all, instruction{name, rest})
		}
	}
	return all
}

// last returns the arguments of the last instruction with that name.
func last(t *testing.T, all []instruction, name string) string {
	t.Helper()
	for _, i := range slices.Backward(all) {
		if i.name == name {
			return i.rest
		}
	}
	t.Fatalf("the Dockerfile has no %s", name)
	return ""
}

func TestTheImageIsBuiltAsMakeBuilds(t *testing.T) {
	variables := map[string]string{"VERSION": "v1.2.3", "TARGETOS": "linux", "TARGETARCH": "arm64"}
	args := []string{"--no-print-directory", "-n", "build", "GO=go"}
	for name, value := range variables {
		args = append(args, name+"="+value)
	}
	command := exec.CommandContext(t.Context(), "make", args...)
	command.Dir = root
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") }) // as if make had not started this process
	byMake, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	inImage := os.Expand(last(t, dockerfile(t), "RUN"), func(name string) string { return variables[name] })
	if got := strings.TrimSpace(string(byMake)); got != inImage {
		t.Errorf("make build runs\n  %s\nthe Dockerfile\n  %s", got, inImage)
	}
}

func TestTheImageRunsAsTheDeploymentSays(t *testing.T) {
	all := dockerfile(t)
	deployment := readDeployment(t)
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	c, _, err := config.Parse(container.Args, config.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"FROM":       "scratch",
		"USER":       "65532:65532", // numeric, because kubelets cannot check that a named user is not root
		"EXPOSE":     fmt.Sprint(c.Server.Port),
		"ENTRYPOINT": `["/lockstep"]`,
		"COPY":       "--from=build /src/bin/lockstep /",
	} {
		if got := last(t, all, name); got != want {
			t.Errorf("the last %s is %s, want %s", name, got, want)
		}
	}
	if user := pod.SecurityContext; user.RunAsNonRoot == nil || !*user.RunAsNonRoot || user.RunAsUser != nil {
		t.Errorf("the Deployment runs it as %+v, want the user of the image or of the cluster, and not root", user)
	}
	if got := container.Ports[0].ContainerPort; int(got) != c.Server.Port {
		t.Errorf("the Deployment names port %d, the operator listens on %d", got, c.Server.Port)
	}
}

func readDeployment(t *testing.T) appsv1.Deployment {
	t.Helper()
	file, err := os.Open(filepath.Join(root, "manifests/operator/deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var d appsv1.Deployment
	if err := yaml.NewYAMLOrJSONDecoder(file, 4096).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The image is built from the files that the Dockerfile copies, by the command that it runs. It
// contains one program that needs no other file.
func TestTheImageHoldsAStaticProgramForEveryPlatform(t *testing.T) {
	if os.Getenv("LOCKSTEP_IMAGE") != "check" {
		t.Skip("SKIPPED, NOT PROVED: set LOCKSTEP_IMAGE=check to build the program of the image (make image-check), which takes minutes")
	}
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(arch, func(t *testing.T) {
			context := buildContext(t)
			command := exec.CommandContext(t.Context(), "sh", "-c", last(t, dockerfile(t), "RUN"))
			command.Dir = context
			command.Env = append(os.Environ(), "VERSION=v1.2.3", "TARGETOS=linux", "TARGETARCH="+arch)
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			program := filepath.Join(context, "bin", "lockstep")
			isStatic(t, program, machine)
			if ours, err := elf.Open("/proc/self/exe"); err == nil && ours.Machine == machine {
				runsAlone(t, program)
			}
		})
	}
}

// buildContext returns a folder with the files that the COPY lines of the first stage copy,
// without tests and their data, as .dockerignore specifies.
func buildContext(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, i := range dockerfile(t) {
		if i.name != "COPY" || strings.HasPrefix(i.rest, "--from") || strings.HasSuffix(i.rest, " /") {
			continue
		}
		names := strings.Fields(i.rest)
		for _, name := range names[:len(names)-1] {
			out, err := exec.CommandContext(t.Context(), "cp", "-R", filepath.Join(root, name), folder).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	out, err := exec.CommandContext(t.Context(), "find", folder, "(", "-name", "*_test.go", "-o", "-path", "*/testdata/*", "-type", "f", ")", "-delete").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder
}

func isStatic(t *testing.T, program string, machine elf.Machine) {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	if file.Machine != machine {
		t.Errorf("it is for %s, want %s", file.Machine, machine)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			t.Error("it requires an interpreter, so it is not static")
		}
	}
}

// runsAlone starts the program in a root without other files, as the image's user.
func runsAlone(t *testing.T, program string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Log("not root: not tried in an empty root")
		return
	}
	command := exec.CommandContext(t.Context(), "/lockstep", "-version")
	command.Path = "/lockstep" // its path in the new root
	command.Err = nil
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: filepath.Dir(program), Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	out, err := command.CombinedOutput()
	if err != nil || string(out) != "lockstep v1.2.3\n" {
		t.Errorf("%v: %s", err, out)
	}
}
