package localcluster

import (
	"context"
	"fmt"
	"io"
)

const prometheusModule = "github.com/prometheus/prometheus"

// PrometheusProgram returns the path of prometheus or promtool in the user's cache. If it is
// missing, it is built, which takes minutes. Progress may be nil.
func PrometheusProgram(ctx context.Context, name string, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	programs := map[string]string{name: prometheusModule + "/cmd/" + name}
	shelf, err := openShelf("prometheus", prometheusModule, programs, ".tools", "prometheus")
	if err != nil {
		return "", err
	}
	shelf.tags = "-tags=remove_all_sd" // service discovery is two thirds of the work
	shelf.title = fmt.Sprintf("building %s %s (once, 2 to 5 minutes on 2 cores)", name, shelf.versions[prometheusModule])
	if err := shelf.fill(ctx, []string{name}, progress); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return shelf.path(name), nil
}
