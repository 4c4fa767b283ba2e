import { readFileSync } from 'node:fs';
import { ObservatoryError } from '../base/index.ts';
import { FILE_LIMITS, parseStrictJson } from '../json/index.ts';
import type { PolicyServerConfig } from '../policy/index.ts';

/**
 * Reads `--servers FILE`: `{"<id>": {"command": "...", "args": []} | {"url": "..."}}`, or the same under `mcpServers`.
 * @throws ObservatoryError `INVALID_OPTION`
 */
export function readServerFile(path: string): Readonly<Record<string, PolicyServerConfig>> {
  let value: unknown;
  try {
    value = parseStrictJson(readFileSync(path), FILE_LIMITS);
  } catch (cause) {
    throw invalid(`'${path}' cannot be read: ${(cause as Error).message}`, cause);
  }
  const inner = (value as { mcpServers?: unknown } | null)?.mcpServers ?? value;
  const isRecord = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
  const configs = isRecord
    ? (Object.entries(inner) as [string, Partial<Record<'command' | 'url', unknown>> | null][])
    : [];
  if (configs.length === 0)
    throw invalid(`'${path}' names no server: {"<id>": {"command": "...", "args": []}}`);
  for (const [id, config] of configs) {
    if (typeof config?.command !== 'string' && typeof config?.url !== 'string') {
      throw invalid(`'${path}': server '${id}' has neither a 'command' nor a 'url'`);
    }
  }
  return inner as Readonly<Record<string, PolicyServerConfig>>;
}

function invalid(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('INVALID_OPTION', message, { cause });
}
