//go:build deploy

package deploy

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

// selects reports whether the labels are those of a pod.
func selects(wanted map[string]string, pod podTemplate) bool {
	for name, value := range wanted {
		if pod.Metadata.Labels[name] != value {
			return false
		}
	}
	return len(wanted) > 0
}

type podTemplate struct {
	Metadata struct{ Labels map[string]string }
	Spec     podSpec
}

type podSpec struct {
	EnableServiceLinks *bool `yaml:"enableServiceLinks"`
	AutomountToken     *bool `yaml:"automountServiceAccountToken"`
	SecurityContext    struct {
		RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
		RunAsUser      int                   `yaml:"runAsUser"`
		SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Spread []struct {
		LabelSelector selector `yaml:"labelSelector"`
	} `yaml:"topologySpreadConstraints"`
	GraceSeconds int `yaml:"terminationGracePeriodSeconds"`
	Containers   []container
}

type container struct {
	Args    []string
	Ports   []containerPort
	EnvFrom []struct {
		ConfigMapRef struct{ Name string } `yaml:"configMapRef"`
		SecretRef    struct{ Name string } `yaml:"secretRef"`
	} `yaml:"envFrom"`
	Env             []struct{ Name, Value string }
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct{ Drop []string }
	} `yaml:"securityContext"`
	StartupProbe   probe `yaml:"startupProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	Lifecycle      struct {
		PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
	}
}

type containerPort struct {
	Name          string
	ContainerPort int `yaml:"containerPort"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type service struct {
	Spec struct {
		Selector map[string]string
		Ports    []struct {
			TargetPort string `yaml:"targetPort"`
		}
	}
}

type networkPolicy struct {
	Metadata struct{ Name string }
	Spec     struct {
		PodSelector selector `yaml:"podSelector"`
		PolicyTypes []string `yaml:"policyTypes"`
		Ingress     []struct {
			From  []any
			Ports []struct{ Port string }
		}
	}
}

// port returns the number of a named port, or 0.
func (c container) port(name string) int {
	for _, port := range c.Ports {
		if port.Name == name {
			return port.ContainerPort
		}
	}
	return 0
}

// environ returns the variables of a container, and what of their sources is missing.
func (c *cluster) environ(in container) (environ, missing []string) {
	for _, source := range in.EnvFrom {
		name := strings.TrimSpace("ConfigMap " + source.ConfigMapRef.Name)
		if source.SecretRef.Name != "" {
			name = "Secret " + source.SecretRef.Name
		}
		values, exists := c.data[name]
		if !exists {
			missing = append(missing, "there is no "+name)
		}
		for variable, value := range values {
			environ = append(environ, variable+"="+plain(name, value))
		}
	}
	for _, variable := range in.Env {
		environ = append(environ, variable.Name+"="+variable.Value)
	}
	return environ, missing
}

// plain returns the value of a variable. That of a Secret is encoded.
func plain(source, value string) string {
	if !strings.HasPrefix(source, "Secret ") {
		return value
	}
	decoded, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return fmt.Sprintf("invalid base64: %v", err)
	}
	return string(decoded)
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
