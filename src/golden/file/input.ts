import { camelCase, camelKeys, snakeCase, snakeKeys } from '../../base/index.ts';
import { isObject, type JsonObject } from '../../json/index.ts';
import { readServerEntries } from '../../mcp-client/index.ts';
import type { RunOptions } from '../../orchestrator/index.ts';
import type { GoldenInput } from './format.ts';

type Json = Record<string, unknown>;

/** Options that a golden holds unchanged. */
const PLAIN = [
  'namespace',
  'timeout',
  'maxIterations',
  'enableBacktracking',
  'conversationMemory',
  'plan',
  'maxTokens',
  'maxCostUsd',
  'temperature',
  'maxOutputTokens',
  'api',
  'extraBody',
  'maxContextTokens',
  'keepTurns',
  'maxResultChars',
  'toolRetries',
] as const satisfies readonly (keyof RunOptions)[];

/** Options that are objects; their own fields are renamed too. */
const GROUPS = [
  'retry',
  'breaker',
  'loop',
  'toolCache',
  'connection',
  'undo',
] as const satisfies readonly (keyof RunOptions)[];

/** Options that contain code and affect the run. */
const NOT_KEPT = ['gate', 'priceOf', 'handlers'] as const satisfies readonly (keyof RunOptions)[];

/**
 * The options of a run as a golden holds them: everything that affects the run, without secrets and code.
 * @param clean removes secrets from a value.
 */
export async function toGoldenInput(
  options: RunOptions,
  provider: string,
  model: string,
  clean: <T>(value: T) => Promise<T>,
): Promise<GoldenInput> {
  const kept: Json = {};
  for (const name of PLAIN) if (options[name] !== undefined) kept[snakeCase(name)] = options[name];
  for (const name of GROUPS) {
    const value = options[name];
    if (value === undefined) continue;
    kept[snakeCase(name)] = typeof value === 'object' ? snakeKeys(value) : value;
  }
  const notKept = NOT_KEPT.filter((name) => options[name] !== undefined).map(snakeCase);
  return {
    provider,
    model,
    system_prompt: await clean(options.systemPrompt),
    user_prompt: await clean(options.userPrompt),
    // Cleaning also redacts the references to variables, which are not secret: put them back.
    server_config: {
      mcpServers: withReferences(await clean(withReferences(await readServerEntries(options.serverConfig)))),
    },
    ...(Object.keys(kept).length === 0 ? {} : { options: await clean(kept) }),
    ...(notKept.length === 0 ? {} : { options_not_kept: notKept }),
  };
}

/** The inverse of {@link toGoldenInput}. Options that a file cannot hold are missing. */
export function fromGoldenInput(input: GoldenInput): RunOptions {
  const options: Json = {};
  for (const [name, value] of Object.entries(input.options ?? {})) {
    const camel = camelCase(name);
    const isGroup = (GROUPS as readonly string[]).includes(camel);
    if (!isGroup && !(PLAIN as readonly string[]).includes(camel)) continue;
    options[camel] = isGroup && typeof value === 'object' && value !== null ? camelKeys(value) : value;
  }
  return {
    ...options,
    provider: input.provider,
    model: input.model,
    systemPrompt: input.system_prompt ?? '',
    userPrompt: input.user_prompt ?? '',
    serverConfig: input.server_config ?? { mcpServers: {} },
  };
}

/** Potential secrets in a server config: values of environments, headers, URLs and the variables they refer to. */
export async function readSecrets(config: unknown): Promise<string[]> {
  const entries = Object.values(await readServerEntries(config)).filter(isObject);
  const values = entries.flatMap(({ env, headers, url }) => [
    ...[env, headers]
      .flatMap((group) => Object.values((group ?? {}) as Json))
      .filter((value) => typeof value === 'string'),
    ...urlSecrets(url),
  ]);
  return values.flatMap((value) => {
    const names = [...value.matchAll(/\$\{(?:env:)?(\w{1,100})/g)].map(([, name]) => process.env[name ?? '']);
    return names.length === 0 ? [value] : names.filter((one) => one !== undefined);
  });
}

function urlSecrets(url: unknown): string[] {
  if (typeof url !== 'string' || !URL.canParse(url)) return [];
  const { username, password, searchParams } = new URL(url);
  const userInfo = username === '' ? [] : [`${username}:${password}`];
  return [...userInfo, username, password, ...searchParams.values()];
}

/** Replaces each value of `env` and `headers` by a reference to a variable of the same name. */
function withReferences(entries: JsonObject): JsonObject {
  const servers = Object.entries(entries).map(([name, server]) => {
    const kept: Json = { ...(server as Json) };
    for (const group of ['env', 'headers']) {
      // Neither a `headers` function nor its results can be recorded.
      if (typeof kept[group] === 'function') delete kept[group];
      if (typeof kept[group] !== 'object' || kept[group] === null) continue;
      const names = Object.keys(kept[group]);
      kept[group] = Object.fromEntries(
        names.map((key) => [key, `\${${key.replace(/\W/g, '_').toUpperCase()}}`]),
      );
    }
    if (typeof kept.url === 'string' && URL.canParse(kept.url)) {
      const { origin, pathname } = new URL(kept.url);
      kept.url = origin + pathname;
    }
    return [name, kept] as const;
  });
  return Object.fromEntries(servers);
}
