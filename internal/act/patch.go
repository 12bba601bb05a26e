package act

import (
	"encoding/json"
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// patch is a merge patch of the few fields that are ever written.
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

// requiring returns a patch that only applies to this very object as it was seen.
func requiring(uid string, version plan.Version) patch {
	return patch{Metadata: metadata{UID: uid, ResourceVersion: version.String()}}
}

func (p patch) json() []byte {
	text, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("encode patch: %v", err)) // texts and numbers always encode
	}
	return text
}
