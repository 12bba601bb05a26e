package cli

import (
	"log/slog"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // watches tell of every failure
	runtime.ErrorHandlers = runtime.ErrorHandlers[:1] // the next one waits by the clock outside of a bubble
	os.Exit(m.Run())
}
