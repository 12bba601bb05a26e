package contract

import (
	"encoding/json"
	"time"
)

// InPlaceUpdate is the value of InPlaceUpdateAnnotation, as JSON.
type InPlaceUpdate struct {
	Revision string            `json:"revision"`
	Version  string            `json:"version"` // the resourceVersion of the pod before
	Since    time.Time         `json:"since"`
	Restarts map[string]string `json:"restarts,omitempty"` // the containers that restart, with their IDs before

	Begun  bool                 `json:"begun,omitempty"`  // the pod still has its former revision
	Before map[string]Resources `json:"before,omitempty"` // the former resources of the containers that get others
}

// Resources are the resources of a container that can be changed in place.
type Resources struct {
	CPURequest    string `json:"cpuRequest,omitempty"`
	MemoryRequest string `json:"memoryRequest,omitempty"`
	CPULimit      string `json:"cpuLimit,omitempty"`
	MemoryLimit   string `json:"memoryLimit,omitempty"`
}

// ReadInPlaceUpdate reads the annotation. The second result is false if it is absent or cannot be read.
func ReadInPlaceUpdate(annotations map[string]string) (InPlaceUpdate, bool) {
	var update InPlaceUpdate
	err := json.Unmarshal([]byte(annotations[InPlaceUpdateAnnotation]), &update)
	return update, err == nil && update.Revision != ""
}
