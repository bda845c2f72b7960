package app

import (
	"io"
	"log/slog"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/panics"
	"example.com/orders/internal/telemetry"
	"example.com/orders/internal/version"
)

// zerolog has one time format and one source of stacks for the whole process. Our times
// are RFC 3339 in UTC, and a stack belongs to each panic.
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

// NewLog returns a log that writes to out, in the format and from the level that cfg
// names. A line about an error that was a panic has its stack.
func NewLog(cfg config.Config, out io.Writer) zerolog.Logger {
	if cfg.LogFormat == "console" {
		out = newConsole(out, isTerminal(out))
	}
	return zerolog.New(out).Level(cfg.LogLevel).With().Timestamp().Stack().Logger()
}

// SetDefaultLog makes log the destination of what libraries log by themselves, with the
// packages log and log/slog or through OpenTelemetry, for the whole process. Without it,
// they write plain text between our lines.
func SetDefaultLog(log zerolog.Logger) {
	telemetry.SetDefaultLog(log)
	slog.SetDefault(slog.New(zerolog.NewSlogHandler(log)))
	slog.SetLogLoggerLevel(slog.LevelWarn) // the package log has no levels, and is used for problems
}

// LogStart writes the line that says what runs, and with which settings.
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
}
