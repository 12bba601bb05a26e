package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

const fieldManager = "lockstep-local-cluster"

// Apply applies manifests as admin, by server-side apply, and rejects unknown fields. A path is a file, or a
// folder with files that end in .yaml, .yml or .json, each with any number of documents. They are applied in
// the given order, and in a folder by name, without kustomization files. The next document after a custom
// resource definition is applied once the definition is served. Namespaced objects without a namespace go to
// default.
func (c *Cluster) Apply(ctx context.Context, paths ...string) error {
	return c.applyAll(ctx, "", paths)
}

// ApplyIn is Apply with all namespaced objects in one namespace, whatever their own is. The service accounts
// of all role bindings are those of this namespace.
func (c *Cluster) ApplyIn(ctx context.Context, namespace string, paths ...string) error {
	return c.applyAll(ctx, namespace, paths)
}

func (c *Cluster) applyAll(ctx context.Context, namespace string, paths []string) error {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	a := &applier{
		client:    client,
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery())),
		namespace: namespace,
	}
	files, err := manifestFiles(paths)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := a.applyFile(ctx, file); err != nil {
			return fmt.Errorf("apply %s: %w", file, err)
		}
	}
	return nil
}

func manifestFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("find manifests: %w", err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("find manifests: %w", err)
		}
		for _, entry := range entries {
			if isManifest(entry) {
				files = append(files, filepath.Join(path, entry.Name()))
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("find manifests: no .yaml, .yml or .json file in %s", strings.Join(paths, ", "))
	}
	return files, nil
}

func isManifest(entry os.DirEntry) bool {
	extension := filepath.Ext(entry.Name())
	name := strings.TrimSuffix(entry.Name(), extension)
	return !entry.IsDir() && name != "kustomization" && slices.Contains([]string{".yaml", ".yml", ".json"}, extension)
}

type applier struct {
	client    dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	namespace string // empty: the namespace in the manifests
}

func (a *applier) applyFile(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	documents := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for number := 1; ; number++ {
		var object unstructured.Unstructured
		err := documents.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read document %d: %w", number, err)
		}
		if len(object.Object) == 0 { // only comments
			continue
		}
		if err := a.apply(ctx, &object); err != nil {
			return fmt.Errorf("document %d, %s %s: %w", number, object.GetKind(), object.GetName(), err)
		}
	}
}

func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	if a.namespace != "" {
		moveSubjects(object, a.namespace)
	}
	resource := a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return a.patch(ctx, resource, object)
	}
	switch {
	case a.namespace != "":
		object.SetNamespace(a.namespace)
	case object.GetNamespace() == "":
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return a.patch(ctx, resource.Namespace(object.GetNamespace()), object)
}

func (a *applier) patch(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	body, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: fieldManager, Force: new(true), FieldValidation: metav1.FieldValidationStrict}
	if _, err := resource.Patch(ctx, object.GetName(), types.ApplyPatchType, body, options); err != nil {
		return err
	}
	if object.GetKind() != "CustomResourceDefinition" {
		return nil
	}
	served := func() bool {
		current, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		return err == nil && established(current) && a.learns(current)
	}
	return poll(ctx, "the definition to be served", served)
}

// learns looks for the kind of a definition in the discovery of the API server, which shows a kind some time
// after its definition is established.
func (a *applier) learns(definition *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	a.mapper.Reset()
	_, err := a.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	return err == nil
}

func established(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Established" && condition["status"] == "True"
	})
}

// moveSubjects sets the namespace of the service accounts in a binding.
func moveSubjects(object *unstructured.Unstructured, namespace string) {
	subjects, found, _ := unstructured.NestedSlice(object.Object, "subjects")
	if !found {
		return
	}
	for _, s := range subjects {
		if subject, ok := s.(map[string]any); ok && subject["kind"] == "ServiceAccount" {
			subject["namespace"] = namespace
		}
	}
	_ = unstructured.SetNestedSlice(object.Object, subjects, "subjects") // it was a slice before
}
