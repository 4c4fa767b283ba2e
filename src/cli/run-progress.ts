import type { EventListener, GhostEvent } from '../orchestrator/index.ts';
import type { CommandIo } from './command-line/index.ts';

const MAX_ARGUMENT_CHARS = 80;

/** Prints the progress of a run to stderr, one line per event, in color unless `NO_COLOR` is set. */
export function progressPrinter(io: CommandIo): EventListener {
  const color = (io.env.NO_COLOR ?? '') === '';
  const paint = (code: number, text: string): string => (color ? `\x1b[${code}m${text}\x1b[0m` : text);
  return (event) => {
    const line = lineFor(event, paint);
    if (line !== undefined) io.stderr.write(`${line}\n`);
  };
}

const RED = 31;
const GREEN = 32;
const YELLOW = 33;
const GRAY = 90;

function lineFor(event: GhostEvent, paint: (code: number, text: string) => string): string | undefined {
  switch (event.type) {
    case 'run_started':
      return paint(GRAY, `${event.provider} ${event.model}`);
    case 'server_connected':
      return paint(GRAY, `${event.server}: ${event.tools} tools`);
    case 'server_failed':
      return paint(RED, `${event.server}: ${event.error}`);
    case 'tool_quarantined':
      return paint(YELLOW, `${event.toolName} is left out: ${event.reason}`);
    case 'plan':
      return event.text;
    case 'tool_started':
      return `${event.toolName} ${paint(GRAY, short(event.arguments))}`;
    case 'tool_progress':
      return paint(GRAY, `  ${event.progress}${event.total === undefined ? '' : ` of ${event.total}`}`);
    case 'tool_finished':
      return event.success
        ? paint(GREEN, `  done in ${event.executionTime.toFixed(2)} s`)
        : paint(RED, `  failed: ${event.error ?? ''}`);
    case 'backtrack':
      return paint(YELLOW, `  trying: ${event.strategy.replaceAll('_', ' ')}`);
    case 'model_retry':
      return paint(YELLOW, `model: ${event.error}; again in ${(event.delayMs / 1000).toFixed(1)} s`);
    case 'breaker':
      return paint(YELLOW, `${event.server}.${event.tool}: breaker ${event.state.replace('_', ' ')}`);
    case 'loop':
      return paint(YELLOW, `${event.toolName}: the same call again and again (${event.decision})`);
    case 'compaction':
      return paint(GRAY, `summarized: ${event.messagesBefore} messages are now ${event.messagesAfter}`);
    case 'limit_reached':
      return paint(RED, `stopped: ${event.message}`);
    default:
      return undefined;
  }
}

function short(args: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(args);
  return text.length > MAX_ARGUMENT_CHARS ? `${text.slice(0, MAX_ARGUMENT_CHARS)}...` : text;
}
