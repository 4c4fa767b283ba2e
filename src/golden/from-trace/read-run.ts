import { semconv } from '../../base/index.ts';
import { PROVIDERS } from '../../wire/index.ts';
import { type SpanRow, textAt, unusable } from './spans.ts';

const ATTR_STOP_REASON = 'observatory.stop_reason';

/** A run of `mcpGhost`: its own span, and those below it in the order of their start. */
export interface StoredRun {
  readonly agent: SpanRow;
  readonly spans: readonly SpanRow[];
}

/** Whether a span is that of a finished run of `mcpGhost`. */
export function isRun({ operation, attributes }: SpanRow): boolean {
  return operation === 'invoke_agent' && attributes[ATTR_STOP_REASON] !== undefined;
}

/**
 * Finds a run of `mcpGhost` in a trace.
 * @param agentSpan the span id of the run, if the trace has several.
 * @throws ObservatoryError `TRACE_UNUSABLE` if there is not exactly one run.
 */
export function findGhostRun(traceId: string, spans: readonly SpanRow[], agentSpan?: string): StoredRun {
  const agents = spans.filter(isRun);
  const chosen = agentSpan === undefined ? agents : agents.filter(({ spanId }) => isSpan(spanId, agentSpan));
  const [agent, ...more] = chosen;
  if (agent !== undefined && more.length === 0) return { agent, spans: spansUnder(agent, spans) };
  if (agent === undefined) {
    throw unusable(
      `The trace ${traceId} holds no finished run of mcpGhost with the span id ${agentSpan} (a span invoke_agent with ${ATTR_STOP_REASON})`,
    );
  }
  const ids = agents.map(({ spanId }) => spanId).join(', ');
  throw unusable(`The trace ${traceId} holds ${agents.length} runs; choose one with --span: ${ids}`);
}

/** The options of a run that its spans tell, in the form of a golden. */
export function readOptions({ agent, spans }: StoredRun, modelCalls: number) {
  const provider = PROVIDERS.find(({ name }) => name === agent.provider)?.key;
  if (provider === undefined)
    throw unusable(`The run asked the provider '${agent.provider}', which cannot be played back`);
  const hasFailed = spans.some(({ operation, failed }) => operation === 'execute_tool' && failed);
  return {
    provider,
    model: textAt(agent, semconv.ATTR_GEN_AI_REQUEST_MODEL) ?? String(agent.model),
    options: {
      namespace: textAt(agent, semconv.ATTR_GEN_AI_AGENT_NAME) ?? 'mcp_ghost',
      plan: spans.some(({ operation, name }) => operation === 'plan' || name === 'plan'),
      enable_backtracking: !hasFailed || spans.some(({ name }) => name === 'backtrack'),
      ...(textAt(agent, ATTR_STOP_REASON) === 'max_iterations' ? { max_iterations: modelCalls - 1 } : {}),
      // The trace holds only the final outcome of each call.
      retry: { max_attempts: 1 },
    },
  };
}

/** Whether a span id matches user input: 16 hex digits, or the UUID of the table. */
function isSpan(spanId: string, wanted: string): boolean {
  return wanted.replaceAll('-', '').toLowerCase().slice(-spanId.length) === spanId;
}

/** The spans of a run, without those of nested runs. */
function spansUnder(agent: SpanRow, spans: readonly SpanRow[]): SpanRow[] {
  const children = new Map<string, SpanRow[]>();
  for (const span of spans) {
    if (span.parentId === null) continue;
    const siblings = children.get(span.parentId);
    if (siblings === undefined) children.set(span.parentId, [span]);
    else siblings.push(span);
  }
  const found: SpanRow[] = [];
  const open = [agent.spanId];
  const seen = new Set(open);
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const child of children.get(id) ?? []) {
      if (child.operation === 'invoke_agent' || seen.has(child.spanId)) continue;
      seen.add(child.spanId);
      found.push(child);
      open.push(child.spanId);
    }
  }
  return found.sort((a, b) => a.startedMs - b.startedMs);
}

/** Where the orchestrator's part of a system prompt begins; see `buildSystemPrompt`. */
const GUIDANCE = /(?:^|\n\n)(?:## Working with tools\n|<working_with_tools>\n)/;
const HEADED_NOTE = /\n\n## Notes of the server ([^\n]{1,200})\n/;
const TAGGED_NOTE = /\n\n<notes_of_the_server_([a-z0-9_]{1,200})>\n/;

interface SystemPromptParts {
  readonly systemPrompt: string;
  /** Instructions of servers, by name. A tag has the name in lower case with underscores. */
  readonly notes: ReadonlyMap<string, string>;
}

/**
 * Splits the system prompt of a run into its parts.
 * @param servers names of the run's servers, to resolve tags.
 */
export function splitSystemPrompt(text: string, servers: readonly string[]): SystemPromptParts {
  const cut = text.search(GUIDANCE);
  if (cut < 0) return { systemPrompt: text, notes: new Map() };
  const notes = new Map<string, string>();
  const rest = text.slice(cut);
  const headed = rest.split(HEADED_NOTE);
  for (let at = 1; at < headed.length; at += 2) notes.set(headed[at] ?? '', headed[at + 1] ?? '');
  const tagged = rest.split(TAGGED_NOTE);
  for (let at = 1; at < tagged.length; at += 2) {
    const tag = tagged[at] ?? '';
    const server = servers.find((name) => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_') === tag) ?? tag;
    notes.set(server, (tagged[at + 1] ?? '').replace(`\n</notes_of_the_server_${tag}>`, ''));
  }
  return { systemPrompt: text.slice(0, cut), notes };
}
