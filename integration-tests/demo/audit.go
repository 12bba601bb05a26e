package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// operatorUser is whom the API server takes the operator for.
const operatorUser = "system:serviceaccount:" + operatorNamespace + ":" + operatorAccount

// writesIn reads from the API server's audit log what the operator wrote in a
// namespace, whatever kind of object: "create events", "delete pods ingester-0".
func writesIn(auditLog, namespace string) ([]string, error) {
	file, err := os.Open(auditLog)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	defer file.Close()
	var writes []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var entry struct {
			Verb string
			User struct{ Username string }
			Ref  struct{ Namespace, Resource, Subresource, Name string } `json:"objectRef"`
		}
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		if entry.User.Username != operatorUser || entry.Ref.Namespace != namespace || reads(entry.Verb) {
			continue
		}
		what := strings.TrimSuffix(entry.Ref.Resource+"/"+entry.Ref.Subresource, "/")
		writes = append(writes, strings.TrimSpace(entry.Verb+" "+what+" "+entry.Ref.Name))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	return writes, nil
}

func reads(verb string) bool { return slices.Contains([]string{"get", "list", "watch"}, verb) }

// seeWrites judges what the operator wrote in a namespace that did not opt in.
func (j *judge) seeWrites(namespace string, writes []string) {
	if len(writes) > 0 {
		j.add(namespace, nil, "the operator wrote %d times, although the namespace did not opt in; first: %s", len(writes), writes[0])
	}
}
