package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
)

func (a *app) convert() *cobra.Command {
	var file string
	command := &cobra.Command{
		Use:   "convert statefulcluster -f FILE",
		Short: "Print the StatefulClusters that take over StatefulSets",
		Long: `Print the StatefulClusters that take over the StatefulSets of a file, or the
StatefulClusters of the group enge.me. The standard input is the file -.

The objects have the annotation lockstep.dev/adopt, so that running pods are taken over
with their claims. What is left out is said on standard error, with the reason. Nothing is
written to the cluster, and no cluster is asked.`,
		Example: `  kubectl lockstep convert stc -f db.yaml > db-statefulcluster.yaml
  kubectl get statefulset db -o yaml | kubectl lockstep convert stc -f -`,
		ValidArgs: []string{"statefulcluster"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "stc" && args[0] != "statefulcluster" {
				return errors.New("usage: kubectl lockstep convert statefulcluster -f FILE, or stc for short")
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			text, err := a.readFile(file)
			if err != nil {
				return err
			}
			return a.convertFile(file, text)
		},
	}
	command.Flags().StringVarP(&file, "filename", "f", "", "file with StatefulSets, as YAML or JSON; - is the standard input")
	_ = command.MarkFlagRequired("filename")
	return command
}

// convertFile prints the StatefulClusters for the objects of a file. If one of them cannot be converted, it prints none.
func (a *app) convertFile(name string, text []byte) error {
	objects, err := manifestsOf(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	var documents [][]byte
	for _, o := range objects {
		c := conversion{from: o}
		if !c.isConvertible() {
			a.warn(c.name() + " is left out: only StatefulSets, and StatefulClusters of enge.me, are converted")
			continue
		}
		converted, err := c.statefulCluster()
		if err != nil {
			return fmt.Errorf("convert %s: %w", c.name(), err)
		}
		for _, remark := range c.remarks {
			a.warn(c.name() + ": " + remark)
		}
		document, err := yaml.Marshal(converted)
		if err != nil {
			return fmt.Errorf("print %s: %w", c.name(), err)
		}
		documents = append(documents, document)
	}
	if len(documents) == 0 {
		return fmt.Errorf("%s has no StatefulSet, and no StatefulCluster of enge.me", screen.Clean(name))
	}
	return a.write(string(bytes.Join(documents, []byte("---\n"))))
}

// manifestsOf returns the objects of a file with one or several documents. Those of a List are objects of the file.
func manifestsOf(text []byte) ([]map[string]any, error) {
	var objects []map[string]any
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), maxFileSize)
	for {
		var raw json.RawMessage
		switch err := documents.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(raw) == 0 || string(raw) == "null":
			continue
		}
		var object map[string]any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber() // a number stays as it is written
		if err := decoder.Decode(&object); err != nil {
			return nil, errors.New("a document is no object")
		}
		items, isList := object["items"].([]any)
		if !isList {
			objects = append(objects, object)
			continue
		}
		for _, item := range items {
			o, isObject := item.(map[string]any)
			if !isObject {
				return nil, errors.New("an item of the List is no object")
			}
			objects = append(objects, o)
		}
	}
}
