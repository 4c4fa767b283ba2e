import { createHash } from 'node:crypto';
import { FILE_LIMITS, parseStrictJson } from '../../json/index.ts';
import {
  APPROVED_DEFINITION,
  BARRED_AS,
  BARRED_DEFINITION,
  BARRED_TOOL,
  type PinStatus,
  REASONS,
  type ReasonCode,
  reviewDigest,
  type ToolDefinition,
  toolHash,
} from '../../policy/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { type ChangedTool, type DefinitionVersion, seenDefinitions } from './definitions.ts';
import { ask } from './run-row.ts';

/** Reason under which decisions about tools are kept among the reviews. */
export const TOOL_REVIEW = 'tool_definition';

/** A tool leaves the list when nothing was heard of its definition for so long. */
export const LISTED_MS = 7 * 86_400_000;
const MAX_TOOLS = 100;
/** Shortest time between two looks at the definitions, and its multiple of the time that a look takes. */
const LEAST_PAUSE_MS = 2000;
const PAUSE_FACTOR = 20;

/** A tool that a gate barred, or whose definition changed, and what a person is to know of it. */
export interface WaitingTool {
  /** Of server, tool and definition: the same in all processes, and another one when the definition changes again. */
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  /** Against the approved definition; `refused` is one that cannot be approved. */
  readonly state: Extract<PinStatus, 'changed' | 'new' | 'refused'>;
  readonly seenBy: ChangedTool['seenBy'];
  /** Whether gates refuse calls of it, and why. */
  readonly barred: string | null;
  readonly now: DefinitionVersion;
  /** What it was before; null where that is not known. */
  readonly before: DefinitionVersion | null;
}

/** All tools that wait, decided or not, the newest definition first. @throws the database's errors. */
async function lookForTools(db: Queryable): Promise<readonly WaitingTool[]> {
  const untilMs = Date.now() + 60_000;
  const seen = await seenDefinitions(db, { sinceMs: untilMs - LISTED_MS, untilMs });
  const gated = seen.filter(({ seenBy }) => seenBy === 'gate').flatMap(waitingVersions);
  const offered = seen.filter(({ seenBy }) => seenBy === 'models').flatMap(waitingVersions);
  const rest: WaitingTool[] = [];
  for (const one of offered) {
    const same = gated.findIndex(
      ({ tool, server, barred }) =>
        tool === one.tool && barred === null && (server === one.server || one.server === ''),
    );
    const found = gated[same];
    // The same change, as a gate and as models saw it: what models were offered has the words.
    if (found === undefined) rest.push(one);
    else gated[same] = { ...found, now: withText(found.now, one.now), before: textOnly(found, one) };
  }
  return [...gated, ...rest].sort((a, b) => b.now.firstMs - a.now.firstMs).slice(0, MAX_TOOLS);
}

const withText = (version: DefinitionVersion, { text, textChars }: Words): DefinitionVersion => ({
  ...version,
  text,
  textChars,
});

type Words = Pick<DefinitionVersion, 'text' | 'textChars'>;

function textOnly({ before }: WaitingTool, offered: WaitingTool): DefinitionVersion | null {
  if (before === null || offered.before === null) return before ?? offered.before;
  return withText(before, offered.before);
}

/** Barred definitions, and the newest one where it replaced another and was let through from the start. */
function waitingVersions({ server, tool, seenBy, versions }: ChangedTool): readonly WaitingTool[] {
  const newest = versions.at(-1);
  return versions.flatMap((now): readonly WaitingTool[] => {
    const isChange = now === newest && versions.length > 1 && !now.wasBarred;
    if (now.barred === null && !isChange) return [];
    const state = now.barred === null ? 'changed' : (findState(now.barred) ?? 'refused');
    const others = versions.filter((one) => one !== now && one.barred === null);
    const before = others.sort((a, b) => b.lastMs - a.lastMs)[0] ?? null;
    const { barred } = now;
    return [
      {
        id: readId([server, tool, seenBy, now.hash || barred]),
        server,
        tool,
        state,
        seenBy,
        barred,
        now,
        before,
      },
    ];
  });
}

function findState(reason: string): WaitingTool['state'] | undefined {
  return Object.hasOwn(BARRED_AS, reason) ? BARRED_AS[reason as keyof typeof BARRED_AS] : undefined;
}

/** A UUID (version 8) of a hash. */
function readId(parts: readonly unknown[]): string {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** What each database was last found to hold; looking takes longer than every page may ask for every second. */
const looks = new WeakMap<
  Queryable,
  { readonly untilMs: number; readonly tools: Promise<readonly WaitingTool[]> }
>();

function knownTools(db: Queryable): Promise<readonly WaitingTool[]> {
  const last = looks.get(db);
  if (last !== undefined && Date.now() < last.untilMs) return last.tools;
  const begun = Date.now();
  const tools = lookForTools(db);
  looks.set(db, { untilMs: Number.POSITIVE_INFINITY, tools });
  const end = (pauseMs: number) => looks.set(db, { untilMs: Date.now() + pauseMs, tools });
  tools.then(
    () => end(Math.max(LEAST_PAUSE_MS, PAUSE_FACTOR * (Date.now() - begun))),
    () => looks.delete(db),
  );
  return tools;
}

/**
 * Tools that wait for a person: their definition changed or is not approved, and nobody has decided about this one yet.
 * What was seen within a few seconds may be missing. @throws the database's errors.
 */
export async function listWaitingTools(db: Queryable): Promise<readonly WaitingTool[]> {
  const tools = await knownTools(db);
  if (tools.length === 0) return [];
  const rows = await ask(
    db,
    `SELECT review_id::text AS id FROM mcp_reviews WHERE review_id = ANY ($1::text::uuid[]) AND status IN ('approved', 'rejected')`,
    [`{${tools.map(({ id }) => id).join(',')}}`],
  );
  const decided = new Set(rows.map(({ id }) => String(id)));
  return tools.filter(({ id }) => !decided.has(id));
}

/** One of them, decided or not, with the definitions and the run that its gate sent. @throws the database's errors. */
export async function findWaitingTool(
  db: Queryable,
  id: string,
): Promise<{ readonly tool: WaitingTool; readonly run: string | null } | undefined> {
  const tool = (await knownTools(db)).find((one) => one.id === id);
  if (tool === undefined) return undefined;
  if (tool.barred === null) return { tool, run: null };
  const from = `FROM mcp_traces WHERE start_time >= $2::timestamptz AND start_time <= $3::timestamptz
      AND coalesce(tool_hash, '') = $4::text AND coalesce(server_name, '') = $5::text`;
  const [row = {}] = await ask(
    db,
    `SELECT (
      SELECT replace(trace_id::text, '-', '') ${from} AND tool_name = $1::text AND gate_blocked ORDER BY start_time DESC LIMIT 1
    ) AS run, told.*
    FROM (SELECT 1) AS one LEFT JOIN LATERAL (
      SELECT attributes ->> '${BARRED_DEFINITION}' AS now, attributes ->> '${APPROVED_DEFINITION}' AS before
      ${from} AND tool_hash IS NOT NULL AND tool_name IS NULL AND attributes ->> '${BARRED_TOOL}' = $1::text
        AND attributes ? '${BARRED_DEFINITION}'
      ORDER BY start_time DESC LIMIT 1
    ) AS told ON true`,
    [tool.tool, formatIso(tool.now.firstMs - 1), formatIso(tool.now.lastMs + 1), tool.now.hash, tool.server],
  );
  const [now, before] = [definitionIn(row.now), definitionIn(row.before)];
  const run = typeof row.run === 'string' ? row.run : null;
  // A span says what anybody likes: a definition that is not the one of the hash is not shown as it.
  if (now === undefined || now.hash !== tool.now.hash) return { tool, run };
  return {
    run,
    tool: {
      ...tool,
      now: withText(tool.now, now),
      before:
        before === undefined
          ? tool.before
          : withText({ ...(tool.before ?? UNSEEN), hash: before.hash }, before),
    },
  };
}

/** An approved definition that was not called in the time that is looked at. */
const UNSEEN: DefinitionVersion = {
  hash: '',
  firstMs: 0,
  lastMs: 0,
  calls: 0,
  text: null,
  textChars: 0,
  barred: null,
  wasBarred: false,
};

const formatIso = (ms: number) => new Date(ms).toISOString();

/** A definition as its gate wrote it, as text and with its hash. */
function definitionIn(text: unknown): (Words & { readonly hash: string }) | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const definition = parseStrictJson(Buffer.from(text), {
      ...FILE_LIMITS,
      largeIntegers: 'text',
    }) as unknown as ToolDefinition;
    const shown = JSON.stringify(definition, null, 2);
    return { hash: toolHash(definition), text: shown, textChars: shown.length };
  } catch {
    return undefined;
  }
}

/** Why its gate bars it, in words. */
export function findMeaning({ barred }: WaitingTool): string | null {
  return barred !== null && Object.hasOwn(REASONS, barred) ? REASONS[barred as ReasonCode].meaning : null;
}

/** What a person can do about a tool where its gate is configured, which no page can. */
export interface ToolRemedies {
  /** Shows how the tool that is listed differs from its pin, whole. */
  readonly look: string | null;
  /** Pins this definition, and no other that the server may list by then. */
  readonly approve: string | null;
  /** A rule of a policy that denies the tool, whatever its definition. */
  readonly deny: string | null;
}

/** A name that a shell takes as it is, and a person can read. */
const PLAIN_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,199}$/u;

export function toRemedies({ server, tool, state, barred, now }: WaitingTool): ToolRemedies {
  const name = `${server}/${tool}`;
  const isPinned = barred !== null && state !== 'refused' && now.hash !== '';
  const command = `npx mcp-observatory gate pin ${PLAIN_NAME.test(name) ? `${name} ` : ''}--pins pins.json --servers servers.json`;
  const digest = reviewDigest([{ server, tool, status: 'new', hash: now.hash, differences: [] }]);
  return {
    look: isPinned ? command : null,
    approve: isPinned && PLAIN_NAME.test(name) ? `${command} --approve ${digest}` : null,
    deny: server === '' ? null : JSON.stringify({ id: 'keep-out', effect: 'deny', server, tool }),
  };
}
