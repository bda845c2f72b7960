package app

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/observe"
	"example.com/orders/internal/observe/logqueue"
	"example.com/orders/internal/observe/panics"
	"example.com/orders/internal/observe/version"
)

// The time format and stack source of zerolog are global. Times are RFC 3339 in UTC, and
// each panic has a stack.
func init() {
	zerolog.TimeFieldFormat = time.RFC3339Nano
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
	zerolog.ErrorStackMarshaler = func(err error) any { //nolint:reassign // a setting, and no error
		if stack := panics.StackOf(err); stack != "" {
			return stack
		}
		return nil
	}
}

// NewLog returns a logger that writes to out with cfg's format and level. Lines about
// recovered panics have a stack.
func NewLog(cfg config.Config, out io.Writer) zerolog.Logger {
	return zerolog.New(formatted(cfg, out)).Level(cfg.LogLevel).With().Timestamp().Stack().Logger()
}

// NewQueuedLog returns a log as [NewLog] does. The lines wait in the queue, so that an
// output that nobody reads stops no request.
func NewQueuedLog(cfg config.Config, out io.Writer) (zerolog.Logger, *logqueue.Queue) {
	log := NewLog(cfg, out)
	queue := logqueue.New(formatted(cfg, out), func(lines uint64) {
		log.Warn().Uint64("lines", lines).Msg("log lines dropped")
	})
	return log.Output(queue), queue
}

func formatted(cfg config.Config, out io.Writer) io.Writer {
	if cfg.LogFormat == "console" {
		return newConsole(out)
	}
	return out
}

// newConsole returns a writer with text lines for people, colored on a terminal.
func newConsole(out io.Writer) zerolog.ConsoleWriter {
	return zerolog.ConsoleWriter{
		Out: out, TimeFormat: time.TimeOnly, NoColor: !isTerminal(out),
		FieldsOrder: []string{"status", "method", "route", "duration_ms"},
	}
}

func isTerminal(out io.Writer) bool {
	file, isFile := out.(*os.File)
	if !isFile {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// SetDefaultLog makes log the process-wide destination for library output from log,
// log/slog and OpenTelemetry. Otherwise it appears as plain text between JSON lines.
func SetDefaultLog(log zerolog.Logger) {
	observe.SetDefaultLog(log)
	slog.SetDefault(slog.New(zerolog.NewSlogHandler(log)))
	slog.SetLogLoggerLevel(slog.LevelWarn) // the package log has no levels and reports problems
}

// LogStart logs the build and the settings, and warns about what they do without.
func (a *App) LogStart(cfg config.Config) {
	build, settings := version.Get(), zerolog.Dict()
	for _, setting := range config.Describe(cfg) {
		if setting.Value != "" {
			settings.Str(setting.Name, setting.Value)
		}
	}
	line := a.log.Info().Str("version", build.Number).Str("revision", build.Revision).Str("go", build.Go)
	if a.started() == nil {
		line.Uint("schema_version", a.schema)
	}
	line.Dict("settings", settings).Msg("serving")
	if cfg.StripeKey == "" {
		a.log.Warn().Msg("card payments are refused: ORDERS_STRIPE_KEY is not set")
	}
	switch hasBroker := len(cfg.NATSURLs) > 0; {
	case hasBroker && cfg.NATSReplicas == 1:
		a.log.Warn().Msg("one broker server keeps each event: set ORDERS_NATS_REPLICAS=3 to survive its loss")
	case !hasBroker && cfg.Outbox != config.ExternalOutbox:
		a.log.Warn().Msg("events wait in the outbox: ORDERS_NATS_URL is not set")
	}
}
