package act

import (
	"encoding/json"
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// patch is a merge patch of the fields that this package writes.
type patch struct {
	Metadata metadata       `json:"metadata"`
	Spec     map[string]int `json:"spec,omitempty"`
	Status   map[string]any `json:"status,omitempty"`
}

type metadata struct {
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// requiring returns a patch that applies only to the object with this UID and version.
func requiring(uid string, version plan.Version) patch {
	return patch{Metadata: metadata{UID: uid, ResourceVersion: version.String()}}
}

func (p patch) json() []byte {
	text, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("encode patch: %v", err)) // strings and numbers can always be encoded
	}
	return text
}
