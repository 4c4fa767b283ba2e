import { type DiagLogger, DiagLogLevel, diag } from '@opentelemetry/api';
import { printableLine } from './printable.ts';

const LEVELS: Readonly<Record<string, DiagLogLevel>> = {
  none: DiagLogLevel.NONE,
  error: DiagLogLevel.ERROR,
  warn: DiagLogLevel.WARN,
  info: DiagLogLevel.INFO,
  debug: DiagLogLevel.DEBUG,
  verbose: DiagLogLevel.VERBOSE,
  all: DiagLogLevel.ALL,
};

/**
 * Sends OpenTelemetry's diagnostics to stderr, from `OTEL_LOG_LEVEL` (`warn` when unset) up. The console logger of the
 * API writes its lower levels to stdout, which belongs to the application. Each message is one line of printable text. An
 * existing logger stays. Others warn into the void in a program without one: their warnings need a level that is set.
 */
export function useStderrDiag(level: string | undefined): void {
  if (hasDiagLogger()) return;
  const chosen = LEVELS[level?.trim().toLowerCase() ?? ''] ?? DiagLogLevel.WARN;
  diag.setLogger(stderrLogger(level !== undefined), { logLevel: chosen, suppressOverrideMessage: true });
}

/** A warning that is seen also in a program without a logger for OpenTelemetry, whose warnings go nowhere. */
export function warnVisibly(message: string): void {
  if (hasDiagLogger()) diag.warn(message);
  else if (isEnding) emitNow(message);
  else process.emitWarning(message);
}

let isEnding = false;

/** To be called as the process exits: `process.emitWarning()` waits for a next tick, which never comes then. */
export function warnAtOnce(): void {
  isEnding = true;
}

function emitNow(message: string): void {
  const warning = Object.assign(new Error(message), { name: 'Warning' });
  try {
    process.emit('warning', warning);
  } catch {
    // A listener of the application; there is nothing left to tell.
  }
}

/**
 * Whether the program has a logger for OpenTelemetry. The API keeps its globals under a registered symbol and has no
 * getter for this one.
 */
export function hasDiagLogger(): boolean {
  const globals = Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1')) as
    | { diag?: unknown }
    | undefined;
  return globals?.diag !== undefined;
}

function stderrLogger(isAsked: boolean): DiagLogger {
  const write =
    (level: string) =>
    (message: string, ...details: unknown[]): void => {
      if (!isAsked && level === 'warn' && !message.startsWith('mcp-observatory')) return;
      // On one line, because messages quote servers and senders, which could write further lines in our name.
      process.stderr.write(
        `[otel ${level}] ${printableLine([message, ...details.map(describe)].join(' '))}\n`,
      );
    };
  return {
    error: write('error'),
    warn: write('warn'),
    info: write('info'),
    debug: write('debug'),
    verbose: write('verbose'),
  };
}

function describe(detail: unknown): string {
  if (detail instanceof Error) return (detail.stack ?? detail.message).replace(/\n +at /g, ' at ');
  if (typeof detail === 'string') return detail;
  try {
    return JSON.stringify(detail) ?? String(detail);
  } catch {
    return String(detail);
  }
}
