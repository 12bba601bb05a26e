package operator

import (
	"context"
	"fmt"
	"io"

	"github.com/lockstep-dev/lockstep/internal/operator/config"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// Main logs the configuration to out and runs an Operator until ctx ends. It returns nil after a
// clean stop.
func Main(ctx context.Context, c config.Config, warnings []config.Warning, out io.Writer, version string) error {
	log, err := telemetry.NewLogger(c.Log.Format, c.Log.Level, out)
	if err != nil {
		return fmt.Errorf("set up log: %w", err)
	}
	for _, warning := range warnings {
		log.WithField("setting", warning.Name).Warn(warning.Message)
	}
	entry := log.WithField("build", version)
	for _, setting := range c.Settings() {
		entry = entry.WithField(setting.Name, setting.Value)
	}
	entry.Info("lockstep starts")
	o, err := New(ctx, c, log, version)
	if err != nil {
		return err
	}
	if err := o.Run(ctx); err != nil {
		return err
	}
	log.Info("lockstep has stopped")
	return nil
}
