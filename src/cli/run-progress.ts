import type { EventListener, GhostEvent } from '../orchestrator/index.ts';
import type { CommandIo } from './command-line/index.ts';
import type { Paint } from './terminal/index.ts';

const MAX_ARGUMENT_CHARS = 80;

/** Prints the progress of a run to stderr, one line per event. */
export function progressPrinter({ stderr }: CommandIo): EventListener {
  return (event) => {
    const line = lineFor(event, stderr.paint);
    if (line === undefined) return;
    if (event.type === 'plan') stderr.write(`${line.replaceAll('\n', '\n  ')}\n`);
    else stderr.writeLine(line);
  };
}

function lineFor(event: GhostEvent, paint: Paint): string | undefined {
  switch (event.type) {
    case 'run_started':
      return paint('dim', `${event.provider} ${event.model}`);
    case 'server_connected':
      return paint('dim', `${event.server}: ${event.tools} tools`);
    case 'server_failed':
      return paint('red', `${event.server}: ${event.error}`);
    case 'tool_quarantined':
      return paint('yellow', `${event.toolName} is left out: ${event.reason}`);
    case 'plan':
      return event.text;
    case 'tool_started':
      return `${event.toolName} ${paint('dim', short(event.arguments))}`;
    case 'tool_progress':
      return paint('dim', `  ${event.progress}${event.total === undefined ? '' : ` of ${event.total}`}`);
    case 'tool_finished':
      return event.success
        ? paint('green', `  done in ${event.executionTime.toFixed(2)} s`)
        : paint('red', `  failed: ${event.error ?? ''}`);
    case 'backtrack':
      return paint('yellow', `  trying: ${event.strategy.replaceAll('_', ' ')}`);
    case 'model_retry':
      return paint('yellow', `model: ${event.error}; again in ${(event.delayMs / 1000).toFixed(1)} s`);
    case 'breaker':
      return paint('yellow', `${event.server}.${event.tool}: breaker ${event.state.replace('_', ' ')}`);
    case 'loop':
      return paint('yellow', `${event.toolName}: the same call again and again (${event.decision})`);
    case 'compaction':
      return paint('dim', `summarized: ${event.messagesBefore} messages are now ${event.messagesAfter}`);
    case 'limit_reached':
      return paint('red', `stopped: ${event.message}`);
    default:
      return undefined;
  }
}

function short(args: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(args);
  return text.length > MAX_ARGUMENT_CHARS ? `${text.slice(0, MAX_ARGUMENT_CHARS)}...` : text;
}
