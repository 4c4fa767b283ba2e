import type { StreamEvent } from './format.ts';

export interface StreamText {
  readonly events: readonly StreamEvent[];
  readonly lineEnd: string;
}

/**
 * Reads a stream of server-sent events so that {@link writeEvents} gives the same text again. An event of the usual
 * form, a name and one line of compact JSON, becomes its parts; any other is kept as it came.
 *
 * @param cut whether the connection broke: what stands after the last whole event is then kept as an event of its own.
 */
export function readEvents(text: string, cut: boolean): StreamText {
  const lineEnd = text.includes('\r\n')
    ? '\r\n'
    : text.includes('\n')
      ? '\n'
      : text.includes('\r')
        ? '\r'
        : '\n';
  const blocks = text.split(lineEnd + lineEnd);
  const rest = blocks.pop() ?? '';
  const events = blocks.map((block) => readEvent(block, lineEnd));
  if (cut || rest !== '') events.push({ raw: rest });
  return { events, lineEnd };
}

/** The text of each event, its end included. */
export function writeEvents(events: readonly StreamEvent[], lineEnd: string, cut: boolean): string[] {
  return events.map((event, index) => {
    const isBroken = cut && index === events.length - 1;
    return writeEvent(event, lineEnd) + (isBroken ? '' : lineEnd + lineEnd);
  });
}

function readEvent(block: string, lineEnd: string): StreamEvent {
  const lines = block.split(lineEnd);
  const name =
    lines.length === 2 && lines[0]?.startsWith('event: ') ? lines[0].slice('event: '.length) : undefined;
  const last = lines.at(-1) ?? '';
  if (!last.startsWith('data: ')) return { raw: block };
  try {
    const data: unknown = JSON.parse(last.slice('data: '.length));
    const event: StreamEvent = name === undefined ? { data } : { event: name, data };
    return writeEvent(event, lineEnd) === block ? event : { raw: block };
  } catch {
    return { raw: block };
  }
}

function writeEvent(event: StreamEvent, lineEnd: string): string {
  if ('raw' in event) return event.raw;
  const data = `data: ${JSON.stringify(event.data)}`;
  return event.event === undefined ? data : `event: ${event.event}${lineEnd}${data}`;
}
