package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// hashDigits is how many digits of a hash distinguish the revisions of one StatefulCluster.
const hashDigits = 10

// Hash returns the hash of a pod template and the names of claim templates. What else claim templates say does not change
// the pods, so it makes no revision.
func Hash(t pool.Templates) (string, error) {
	template, err := canonical(t.Pod)
	if err != nil {
		return "", fmt.Errorf("read the pod template: %w", err)
	}
	hash := sha256.New()
	_, _ = hash.Write(template) // a hash returns no error
	for _, claim := range t.Claims {
		_, _ = fmt.Fprintf(hash, "\n%s", claim.Name)
	}
	return hex.EncodeToString(hash.Sum(nil))[:hashDigits], nil
}

// canonical returns a template in the form in which equal templates are equal texts.
func canonical(template []byte) ([]byte, error) {
	decoded, err := decode(template)
	if err != nil {
		return nil, err
	}
	if metadata, is := decoded["metadata"].(object); is {
		delete(metadata, "creationTimestamp")
		if len(metadata) == 0 {
			delete(decoded, "metadata")
		}
	}
	return encode(decoded)
}

// revision is the content of a revision.
type revision struct {
	Spec struct {
		Template             json.RawMessage   `json:"template"`
		VolumeClaimTemplates []json.RawMessage `json:"volumeClaimTemplates,omitempty"`
	} `json:"spec"`
}

// Encode returns templates as the content of a revision.
func Encode(t pool.Templates) ([]byte, error) {
	var r revision
	r.Spec.Template = t.Pod
	for _, claim := range t.Claims {
		r.Spec.VolumeClaimTemplates = append(r.Spec.VolumeClaimTemplates, claim.Template)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	return text, nil
}

// Decode returns the templates of a revision.
func Decode(text []byte) (pool.Templates, error) {
	var r revision
	if err := json.Unmarshal(text, &r); err != nil {
		return pool.Templates{}, fmt.Errorf("read revision: %w", err)
	}
	return Templates(r.Spec.Template, r.Spec.VolumeClaimTemplates)
}

// Templates returns the templates with the names of the claim templates.
func Templates(template json.RawMessage, claims []json.RawMessage) (pool.Templates, error) {
	if _, err := decode(template); err != nil {
		return pool.Templates{}, fmt.Errorf("read pod template: %w", err)
	}
	t := pool.Templates{Pod: template}
	for _, claim := range claims {
		decoded, err := decode(claim)
		if err != nil {
			return pool.Templates{}, fmt.Errorf("read claim template: %w", err)
		}
		metadata, _ := decoded["metadata"].(object)
		name, _ := metadata["name"].(string)
		t.Claims = append(t.Claims, pool.ClaimTemplate{Name: name, Template: claim, Storage: storageOf(decoded)})
	}
	return t, nil
}

// storageOf returns the text in which a claim template asks for storage.
func storageOf(template object) pool.Storage {
	spec, _ := template["spec"].(object)
	resources, _ := spec["resources"].(object)
	requests, _ := resources["requests"].(object)
	switch value := requests["storage"].(type) {
	case string:
		return pool.Storage{Text: value}
	case json.Number:
		return pool.Storage{Text: value.String()}
	}
	return pool.Storage{}
}
