//go:build deploy

package deploy

import (
	"cmp"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	natsserver "github.com/nats-io/nats-server/v2/server"
)

const composeFile = "deploy/compose.yaml"

// passwords are what a user adds to the example, as `openssl rand -hex 24` would make them.
var passwords = []string{
	"POSTGRES_PASSWORD=6f1d0c5b0e", "OWNER_PASSWORD=91b7a34e22", "APP_PASSWORD=c0ffee1234", brokerPassword,
}

// brokerPassword begins like a number, and is none.
const brokerPassword = "NATS_PASSWORD=12e45d0a9b"

// The configuration of the broker reads the environment of the process.
func TestMain(m *testing.M) {
	name, value, _ := strings.Cut(brokerPassword, "=")
	if err := os.Setenv(name, value); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// loadComposition loads a file of Compose with the variables of the example and the
// passwords, as an engine would.
func loadComposition(t *testing.T, file string, passwords ...string) (*types.Project, error) {
	t.Helper()
	environ := append(mustReadEnv(t, "deploy/.env.example"), passwords...)
	options, err := cli.NewProjectOptions([]string{file}, cli.WithWorkingDirectory(filepath.Join(root, "deploy")), cli.WithEnv(environ))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(t.Context())
}

// Who copies the example and changes nothing must not run with passwords that everybody
// can read.
func TestCompose_RefusesToStartWithoutPasswords(t *testing.T) {
	t.Parallel()
	for i, missing := range passwords {
		name, _, _ := strings.Cut(missing, "=")
		_, err := loadComposition(t, filepath.Join(root, composeFile), slices.Delete(slices.Clone(passwords), i, i+1)...)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "deploy/.env") {
			t.Errorf("without %s: err = %v, want one that names it and the file", name, err)
		}
	}
}

// facts are what the files are compared with.
type facts struct {
	environ []string // of the image
	drain   time.Duration
	roles   string
}

func mustReadFacts(t *testing.T) facts {
	t.Helper()
	return facts{imageEnviron(t), drain(t), mustReadFile(t, "deploy/postgres/roles.sql")}
}

func TestCompose_FitsTheService(t *testing.T) {
	t.Parallel()
	project, err := loadComposition(t, filepath.Join(root, composeFile), passwords...)
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range compositionFindings(project, mustReadFacts(t)) {
		t.Error(finding)
	}
}

// compositionFindings returns what of the services does not fit.
func compositionFindings(project *types.Project, known facts) []string {
	var found []string
	for _, name := range []string{"orders", "migrate"} {
		for _, finding := range serviceFindings(project.Services[name], known) {
			found = append(found, name+": "+finding)
		}
	}
	for name, s := range project.Services {
		if hasPassword(s.Command) {
			found = append(found, name+": has a password on its command line")
		}
	}
	natsURL := project.Services["orders"].Environment["ORDERS_NATS_URL"]
	if natsURL == nil {
		return append(found, "orders: has no broker")
	}
	if problem := brokerProblem(project.Services["nats"], *natsURL); problem != nil {
		found = append(found, "nats: "+problem.Error())
	}
	return found
}

func serviceFindings(s types.ServiceConfig, known facts) []string {
	var found []string
	environ := append(slices.Clone(known.environ), s.Environment.ToMapping().Values()...)
	command := strings.Join(s.Command, " ")
	if len(s.Command) == 0 {
		command = "serve"
	}
	if problem := settingsProblem(command, environ, known.roles); problem != nil {
		found = append(found, problem.Error())
	}
	if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
		found = append(found, "may do more than it needs")
	}
	if command == "serve" {
		found = append(found, serverFindings(s, environ, known.drain)...)
	}
	return found
}

func serverFindings(s types.ServiceConfig, environ []string, drain time.Duration) []string {
	var found []string
	for _, port := range s.Ports {
		if int(port.Target) != portOf(environ, "ORDERS_ADDR") || port.HostIP != "127.0.0.1" {
			found = append(found, fmt.Sprintf("publishes %d on %q", port.Target, port.HostIP))
		}
	}
	if grace := s.StopGracePeriod; grace == nil || time.Duration(*grace) <= drain {
		found = append(found, fmt.Sprintf("is killed after %s, and may need %s to stop", grace, drain))
	}
	if s.HealthCheck == nil || !slices.Equal(s.HealthCheck.Test, []string{"CMD", "/orders", "health"}) {
		found = append(found, "has no health check by the command")
	}
	if allowed := env.ToMap(environ)["ORDERS_ALLOW_INSECURE"]; strings.Contains(allowed, "admin") {
		found = append(found, "allows others to reach the admin listener")
	}
	return found
}

func hasPassword(args []string) bool {
	return slices.ContainsFunc(passwords, func(password string) bool {
		_, value, _ := strings.Cut(password, "=")
		return strings.Contains(strings.Join(args, " "), value)
	})
}

// brokerProblem returns what of the broker's configuration does not fit the URL of the
// service.
func brokerProblem(broker types.ServiceConfig, natsURL string) error {
	args := slices.Clone(broker.Command)
	for _, volume := range broker.Volumes { // where the file is before it is mounted
		for i := range args {
			args[i] = strings.Replace(args[i], "="+volume.Target, "="+volume.Source, 1)
		}
	}
	flags := flag.NewFlagSet("nats-server", flag.ContinueOnError)
	options, err := natsserver.ConfigureOptions(flags, args, func() {}, func() {}, func() {})
	if err != nil {
		return err
	}
	u, err := url.Parse(natsURL)
	if err != nil {
		return err
	}
	password, _ := u.User.Password()
	if options.Username == "" || options.Username != u.User.Username() || options.Password != password {
		return fmt.Errorf("expects the user %q, and the URL names %q", options.Username, u.User.Username())
	}
	if address := fmt.Sprintf("nats:%d", cmp.Or(options.Port, natsserver.DEFAULT_PORT)); address != u.Host || !options.JetStream {
		return fmt.Errorf("listens on %s, and the URL names %s; JetStream: %t", address, u.Host, options.JetStream)
	}
	return nil
}
