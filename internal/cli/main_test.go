package cli

import (
	"log/slog"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // watches log every failure
	runtime.ErrorHandlers = runtime.ErrorHandlers[:1] // the next handler waits by the clock outside the bubble
	os.Exit(m.Run())
}
