package admission

import (
	"encoding/json"
	"fmt"
)

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch returns the JSON patch with these operations.
func patch(operations ...operation) []byte {
	encoded, err := json.Marshal(operations)
	if err != nil {
		panic(fmt.Sprintf("encode patch: %v", err)) // strings always encode
	}
	return encoded
}
