//go:build deploy

package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// brokenManifests change one thing in the manifests that the check must find.
var brokenManifests = map[string]struct{ check, old, replacement, want string }{
	"setting":           {"settings", "ORDERS_JWT_AUDIENCE: orders", "ORDERS_JWT_AUDIENCES: orders", "ORDERS_JWT_AUDIENCES is no setting"},
	"unsafe setting":    {"settings", "        - name: ORDERS_ALLOW_INSECURE\n          value: admin\n", "", "set ORDERS_ALLOW_INSECURE=admin"},
	"command":           {"settings", "        - migrate\n        - up\n", "        - migrations\n        - up\n", `"migrations up" is no command`},
	"settings by name":  {"settings", "secretRef:\n            name: orders-migration-", "secretRef:\n            name: orders-migrations-", "there is no Secret orders-migrations-"},
	"links of services": {"settings", "      enableServiceLinks: false\n      securityContext", "      securityContext", "variables of Services are added"},
	"path of a probe":   {"probes", "path: /health/ready", "path: /healthz", "a probe asks for /healthz of admin"},
	"port of a probe":   {"probes", "path: /health/ready\n            port: admin", "path: /health/ready\n            port: http", "a probe asks for /health/ready of http"},
	"port":              {"ports", "containerPort: 9090", "containerPort: 9091", "the port admin is 9091, and ORDERS_ADMIN_ADDR is 9090"},
	"port of a service": {"ports", "targetPort: http", "targetPort: admin", "the Service leads to admin"},
	"port of a policy":  {"ports", "    - port: admin\n", "    - port: metrics\n", "a policy admits 1 sources to metrics"},
	"selector":          {"selectors", "  maxUnavailable: 1\n  selector:\n    matchLabels:\n      app.kubernetes.io/component: server\n", "  maxUnavailable: 1\n  selector:\n    matchLabels:\n", "PodDisruptionBudget does not select"},
	"policy":            {"selectors", "    matchLabels:\n      app.kubernetes.io/component: migration\n      app.kubernetes.io/name: orders\n  policyTypes:\n  - Ingress\n", "    matchLabels:\n      app.kubernetes.io/component: migration\n      app.kubernetes.io/name: orders\n  policyTypes:\n", "0 policies for both directions select the migration"},
	"step of a job":     {"steps", "kind: Job\nmetadata:\n  labels:\n    app.kubernetes.io/component: migration\n", "kind: Job\nmetadata:\n  labels:\n    app.kubernetes.io/component: server\n", "does not apply Job orders-migration"},
	"step of a secret":  {"steps", "kind: Secret\nmetadata:\n  labels:\n    app.kubernetes.io/component: migration\n", "kind: Secret\nmetadata:\n  labels:\n    app.kubernetes.io/component: server\n", "does not apply Secret orders-migration-"},
	"drain":             {"drain", "terminationGracePeriodSeconds: 40", "terminationGracePeriodSeconds: 26", "a pod is killed after 26s, and may need 26s"},
	"escalation":        {"privileges", "            memory: 64Mi\n        securityContext:\n          allowPrivilegeEscalation: false\n", "            memory: 64Mi\n        securityContext:\n", "migration is not restricted as a container"},
	"token":             {"privileges", "      automountServiceAccountToken: false\n      containers:\n      - args:\n        - migrate\n", "      containers:\n      - args:\n        - migrate\n", "migration has a token"},
	"user":              {"privileges", "        runAsUser: 65532\n        seccompProfile:\n          type: RuntimeDefault\n      serviceAccountName", "        runAsUser: 0\n        seccompProfile:\n          type: RuntimeDefault\n      serviceAccountName", "server is not restricted as a pod"},
}

func TestKubernetes_ChecksFindWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	manifests, known := mustRender(t), mustReadFacts(t)
	unused := maps.Clone(checks)
	for name, c := range brokenManifests {
		delete(unused, c.check)
		broken := mustParse(t, replaceOnce(t, manifests, c.old, c.replacement))
		if found := checks[c.check](broken, known); len(found) != 1 || !strings.Contains(found[0], c.want) {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
	}
	for name := range unused {
		t.Errorf("no broken manifest is for the check of %s", name)
	}
}

// brokenComposition changes one thing in deploy/compose.yaml.
var brokenComposition = map[string]struct{ old, replacement, want string }{
	"setting":        {"ORDERS_JWKS_URL: ", "ORDERS_JWKS_URLS: ", "ORDERS_JWKS_URLS is no setting"},
	"unsafe setting": {"ORDERS_ALLOW_INSECURE: database,broker", "ORDERS_ALLOW_INSECURE: database", "set ORDERS_ALLOW_INSECURE=database,broker"},
	"role":           {"postgres://orders_app:${APP_PASSWORD}", "postgres://orders_owner:${OWNER_PASSWORD}", `connects as "orders_owner"`},
	"database":       {"postgres://orders_app:${APP_PASSWORD}@postgres/orders", "postgres://orders_app:${APP_PASSWORD}@postgres/shop", `connects to "shop"`},
	"migration":      {"      ORDERS_ALLOW_INSECURE: database\n", "", "set ORDERS_ALLOW_INSECURE=database"},
	"command":        {"command: [migrate, up]", "command: [migrate]", `"migrate" is no command`},
	"admin":          {"ORDERS_ALLOW_INSECURE: database,broker", "ORDERS_ALLOW_INSECURE: database,broker,admin", "reach the admin listener"},
	"port":           {"127.0.0.1:8080:8080", "127.0.0.1:8080:8000", "publishes 8000"},
	"address":        {"127.0.0.1:8080:8080", "8080:8080", `publishes 8080 on ""`},
	"drain":          {"stop_grace_period: 30s", "stop_grace_period: 21s", "is killed after 21s"},
	"health":         {"test: [CMD, /orders, health]", "test: [CMD, /orders, ready]", "has no health check by the command"},
	"privileges":     {"    <<: *restricted\n    image: ${IMAGE:?}\n    restart", "    image: ${IMAGE:?}\n    restart", "may do more than it needs"},
	"user of broker": {"nats://orders:", "nats://shop:", `the URL names "shop"`},
	"password":       {"[--config=/etc/nats/nats.conf]", "[--config=/etc/nats/nats.conf, --pass=$NATS_PASSWORD]", "has a password on its command line"},
	"port of broker": {"@nats:4222", "@nats:4223", "the URL names nats:4223"},
	"broker":         {"--config=/etc/nats/nats.conf", "--port=4222", `expects the user ""`},
}

func TestCompose_ChecksFindWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	known := mustReadFacts(t)
	for name, c := range brokenComposition {
		project, err := loadComposition(t, mustBreak(t, c.old, c.replacement), passwords...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if found := compositionFindings(project, known); len(found) != 1 || !strings.Contains(found[0], c.want) {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
	}
}

// mustBreak writes a copy of deploy/compose.yaml in which old is replaced.
func mustBreak(t *testing.T, old, replacement string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "compose.yaml")
	if err := os.WriteFile(file, []byte(replaceOnce(t, mustReadFile(t, composeFile), old, replacement)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
