//go:build deploy

package deploy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	openapi "example.com/orders/api"
)

// checks compare the manifests with the service, where no schema can. Each returns what
// does not fit.
var checks = map[string]func(*cluster, facts) []string{
	"settings": wrongSettings, "probes": wrongProbes, "ports": wrongPorts,
	"selectors": wrongSelectors, "steps": wrongSteps, "drain": shortDrain, "privileges": excessPrivileges,
}

func TestKubernetes_FitsTheService(t *testing.T) {
	t.Parallel()
	c, known := mustParse(t, mustRender(t)), mustReadFacts(t)
	for name, check := range checks {
		for _, finding := range check(c, known) {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

func wrongSettings(c *cluster, known facts) []string {
	var found []string
	for _, pod := range []podTemplate{c.server, c.migration} {
		for _, container := range pod.Spec.Containers {
			environ, missing := c.environ(container)
			if len(missing) > 0 {
				found = append(found, missing...)
				continue
			}
			environ = append(slices.Clone(known.environ), environ...)
			if problem := settingsProblem(strings.Join(container.Args, " "), environ, known.roles); problem != nil {
				found = append(found, problem.Error())
			}
		}
		// Variables of a Service named orders would be refused as settings.
		if links := pod.Spec.EnableServiceLinks; links == nil || *links {
			found = append(found, "variables of Services are added")
		}
	}
	return found
}

func wrongProbes(c *cluster, _ facts) []string {
	var found []string
	server := c.server.Spec.Containers[0]
	for want, got := range map[string][]probe{
		"/health/live": {server.StartupProbe, server.LivenessProbe}, "/health/ready": {server.ReadinessProbe},
	} {
		if !strings.Contains(string(openapi.OpenAPI), "\n  "+want+":\n") {
			found = append(found, want+" is not in the contract")
		}
		for _, probe := range got {
			if probe.HTTPGet.Path != want || probe.HTTPGet.Port != "admin" {
				found = append(found, fmt.Sprintf("a probe asks for %s of %s, want %s of admin", probe.HTTPGet.Path, probe.HTTPGet.Port, want))
			}
		}
	}
	return found
}

func wrongPorts(c *cluster, _ facts) []string {
	var found []string
	server := c.server.Spec.Containers[0]
	environ, _ := c.environ(server)
	for name, variable := range map[string]string{"http": "ORDERS_ADDR", "admin": "ORDERS_ADMIN_ADDR"} {
		if port := server.port(name); port == 0 || port != portOf(environ, variable) {
			found = append(found, fmt.Sprintf("the port %s is %d, and %s is %d", name, port, variable, portOf(environ, variable)))
		}
	}
	for _, port := range c.service.Spec.Ports {
		if port.TargetPort != "http" {
			found = append(found, "the Service leads to "+port.TargetPort)
		}
	}
	for _, policy := range c.policies {
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				if server.port(port.Port) == 0 || len(rule.From) == 0 {
					found = append(found, fmt.Sprintf("a policy admits %d sources to %s", len(rule.From), port.Port))
				}
			}
		}
	}
	return found
}

func wrongSelectors(c *cluster, _ facts) []string {
	var found []string
	spread := map[string]map[string]string{}
	for i, constraint := range c.server.Spec.Spread {
		spread[fmt.Sprintf("spread constraint %d", i)] = constraint.LabelSelector.MatchLabels
	}
	for _, selectors := range []map[string]map[string]string{c.selectors, spread} {
		for name, labels := range selectors {
			if !selects(labels, c.server) || selects(labels, c.migration) {
				found = append(found, name+" does not select the pods of the server alone")
			}
		}
	}
	for name, pod := range map[string]podTemplate{"server": c.server, "migration": c.migration} {
		if n := c.policiesOf(pod); n != 1 {
			found = append(found, fmt.Sprintf("%d policies for both directions select the %s", n, name))
		}
	}
	return found
}

func (c *cluster) policiesOf(pod podTemplate) int {
	n := 0
	for _, policy := range c.policies {
		if selects(policy.Spec.PodSelector.MatchLabels, pod) && slices.Equal(policy.Spec.PolicyTypes, []string{"Ingress", "Egress"}) {
			n++
		}
	}
	return n
}

// wrongSteps returns what the migration needs and the label in docs/operate.md does not
// select.
func wrongSteps(c *cluster, _ facts) []string {
	needed := []string{"Job orders-migration"}
	for _, source := range c.migration.Spec.Containers[0].EnvFrom {
		needed = append(needed, "Secret "+source.SecretRef.Name)
	}
	for _, policy := range c.policies {
		if selects(policy.Spec.PodSelector.MatchLabels, c.migration) {
			needed = append(needed, "NetworkPolicy "+policy.Metadata.Name)
		}
	}
	var found []string
	for _, name := range needed {
		if c.components[name] != "migration" {
			found = append(found, "the migration does not apply "+name)
		}
	}
	return found
}

func shortDrain(c *cluster, known facts) []string {
	needed := known.drain + seconds(c.server.Spec.Containers[0].Lifecycle.PreStop.Sleep.Seconds)
	if grace := seconds(c.server.Spec.GraceSeconds); grace <= needed {
		return []string{fmt.Sprintf("a pod is killed after %s, and may need %s to stop", grace, needed)}
	}
	return nil
}

// excessPrivileges compares the pods with the Pod Security Standard "restricted", and with
// what the service does not need beyond it.
func excessPrivileges(c *cluster, _ facts) []string {
	var found []string
	for name, pod := range map[string]podTemplate{"server": c.server, "migration": c.migration} {
		spec := pod.Spec
		if token := spec.AutomountToken; token == nil || *token {
			found = append(found, name+" has a token of Kubernetes")
		}
		if !spec.SecurityContext.RunAsNonRoot || spec.SecurityContext.RunAsUser == 0 || spec.SecurityContext.SeccompProfile.Type != "RuntimeDefault" {
			found = append(found, name+" is not restricted as a pod")
		}
		for _, container := range spec.Containers {
			limits := container.SecurityContext
			escalates := limits.AllowPrivilegeEscalation == nil || *limits.AllowPrivilegeEscalation
			if escalates || !limits.ReadOnlyRootFilesystem || !slices.Equal(limits.Capabilities.Drop, []string{"ALL"}) {
				found = append(found, name+" is not restricted as a container")
			}
		}
	}
	return found
}
