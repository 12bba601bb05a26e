package contract

import (
	"fmt"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// FormatWithdrawn returns the value of WithdrawnAnnotation for a planned deletion of a pod at a version: 10/MARK. The mark
// makes it differ from the value before.
func FormatWithdrawn(version plan.Version, mark string) string {
	return fmt.Sprintf("%d/%s", version, mark)
}

// WithdrawnVersion returns the version at which the last cancelled deletion of a pod was planned. A value that cannot be read
// is 0.
func WithdrawnVersion(annotations map[string]string) plan.Version {
	text, _, _ := strings.Cut(annotations[WithdrawnAnnotation], "/")
	version, _ := plan.ParseVersion(text)
	return version
}
