//go:build deploy

package deploy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// mustRender returns the manifests of the example, with its secrets from the patterns of
// the *.env files.
func mustRender(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "deploy", "kubernetes"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server", "migration"} {
		pattern := filepath.Join(dir, "example", name+".env.example")
		if err := os.Rename(pattern, filepath.Join(dir, "example", name+".env")); err != nil {
			t.Fatal(err)
		}
	}
	out, err := runTool(t, kustomize, "build", filepath.Join(dir, "example"))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// cluster is what a cluster would hold after the manifests are applied.
type cluster struct {
	server, migration podTemplate
	// selectors are labels that must select the pods of the server, by who selects.
	selectors map[string]map[string]string
	service   service
	policies  []networkPolicy
	// data holds the ConfigMaps and Secrets, and components the label that says which step
	// of docs/operate.md applies an object, by kind and name.
	data       map[string]map[string]string
	components map[string]string
}

func mustParse(t *testing.T, manifests string) *cluster {
	t.Helper()
	c := &cluster{selectors: map[string]map[string]string{}, data: map[string]map[string]string{}, components: map[string]string{}}
	decoder := yaml.NewDecoder(strings.NewReader(manifests))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return c
		} else if err != nil {
			t.Fatal(err)
		}
		if err := c.add(&node); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *cluster) add(node *yaml.Node) error {
	var head struct {
		Kind     string
		Metadata struct {
			Name   string
			Labels map[string]string
		}
	}
	if err := node.Decode(&head); err != nil {
		return err
	}
	c.components[head.Kind+" "+head.Metadata.Name] = head.Metadata.Labels["app.kubernetes.io/component"]
	switch head.Kind {
	case "Deployment", "Job", "PodDisruptionBudget":
		return c.addWorkload(node, head.Kind)
	case "Service":
		err := node.Decode(&c.service)
		c.selectors["Service"] = c.service.Spec.Selector
		return err
	case "NetworkPolicy":
		var policy networkPolicy
		err := node.Decode(&policy)
		c.policies = append(c.policies, policy)
		return err
	case "ConfigMap", "Secret":
		var object struct{ Data map[string]string }
		err := node.Decode(&object)
		c.data[head.Kind+" "+head.Metadata.Name] = object.Data
		return err
	}
	return nil
}

func (c *cluster) addWorkload(node *yaml.Node, kind string) error {
	var object struct {
		Spec struct {
			Selector selector
			Template podTemplate
		}
	}
	if err := node.Decode(&object); err != nil {
		return err
	}
	if kind == "Job" {
		c.migration = object.Spec.Template
		return nil
	}
	c.selectors[kind] = object.Spec.Selector.MatchLabels
	if kind == "Deployment" {
		c.server = object.Spec.Template
	}
	return nil
}

func TestKubernetes_FitsTheSchemas(t *testing.T) {
	t.Parallel()
	if err := validate(t, mustRender(t)); err != nil {
		t.Error(err)
	}
}

// validate checks manifests against the schemas of Kubernetes. The values of Secrets lose
// the line breaks that kustomize adds and the API server accepts: the validator does not.
func validate(t *testing.T, manifests string) error {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(manifests))
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	for {
		var object map[string]any
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if object["kind"] == "Secret" {
			joinLines(object["data"].(map[string]any))
		}
		if err := encoder.Encode(object); err != nil {
			return err
		}
	}
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		return err
	}
	_, err := runTool(t, kubectlValidate, file)
	return err
}

func joinLines(data map[string]any) {
	for name, value := range data {
		data[name] = strings.ReplaceAll(value.(string), "\n", "")
	}
}
