/** The settings with which coding agents and editors send what they do. */
import { join } from 'node:path';
import { isObject, type JsonObject } from '../../json/index.ts';
import {
  decodeUtf8,
  type FileEdit,
  findEditable,
  formatLike,
  readIfThere,
  readJsonSettings,
  usageError,
} from '../command-line/index.ts';

/** Where `up` and `collect` listen. */
export const RECEIVER = 'http://127.0.0.1:4318';
const GRPC = 'http://127.0.0.1:4317';

interface Client {
  /** The settings, in the home folder or in that of the project. */
  readonly settings: string;
  readonly isOfProject?: boolean;
  /** Members of settings in JSON, or lines of TOML. */
  readonly added: JsonObject | string;
}

/** Sources: those of `agentSettings`, which prints the same settings. */
const CLIENTS: Readonly<Record<string, Client>> = {
  'claude-code': {
    settings: '.claude/settings.json',
    added: {
      env: {
        CLAUDE_CODE_ENABLE_TELEMETRY: '1',
        OTEL_LOGS_EXPORTER: 'otlp',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_EXPORTER_OTLP_ENDPOINT: RECEIVER,
      },
    },
  },
  codex: {
    settings: '.codex/config.toml',
    added: `[otel]\nexporter = { otlp-http = { endpoint = "${RECEIVER}/v1/logs", protocol = "binary" } }\n`,
  },
  'gemini-cli': {
    settings: '.gemini/settings.json',
    added: { telemetry: { enabled: true, target: 'local', otlpEndpoint: GRPC } },
  },
  'vs-code': {
    settings: '.vscode/settings.json',
    isOfProject: true,
    added: { 'github.copilot.chat.otel.enabled': true, 'github.copilot.chat.otel.otlpEndpoint': RECEIVER },
  },
};

export const CLIENT_NAMES: readonly string[] = Object.keys(CLIENTS);

/** @throws ObservatoryError `INVALID_OPTION` for a client that is not known */
export function findClientSettings(name: string, folder: string, home: string): string {
  const { settings, isOfProject = false } = toClient(name);
  return findEditable(join(isOfProject ? folder : home, settings));
}

function toClient(name: string): Client {
  const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
  if (client !== undefined) return client;
  const cursor = name === 'cursor' ? ". Cursor sends nothing; 'hook install cursor' records its tools" : '';
  throw usageError(`Expected one of ${CLIENT_NAMES.join(', ')}, got '${name}'${cursor}`);
}

/**
 * @returns undefined where the settings are there already.
 * @throws ObservatoryError `INVALID_OPTION` where telemetry is set up otherwise, or the file cannot be edited
 */
export function clientChange(name: string, folder: string, home: string): FileEdit | undefined {
  const path = findClientSettings(name, folder, home);
  const { added } = toClient(name);
  const before = readIfThere(path);
  const text = decodeUtf8(path, before);
  const edited =
    typeof added === 'string'
      ? withLines(path, text, added)
      : formatLike(text, withMembers(path, readJsonSettings(path, text), added));
  const isThere = typeof added === 'string' ? edited === text : holds(readJsonSettings(path, text), added);
  return isThere ? undefined : { path, before, text: edited };
}

function withLines(path: string, text: string, lines: string): string {
  if (text.includes(lines)) return text;
  // A table of TOML may be written once only, in any of three forms.
  if (/^[ \t]*(?:\[+[ \t]*)?["']?otel["']?[ \t]*[\].=]/m.test(text))
    throw usageError(`'${path}' has settings of otel already, so it is not edited. Write there:\n${lines}`);
  const gap = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n';
  return `${text}${gap}${lines}`;
}

function withMembers(path: string, settings: JsonObject, added: JsonObject): JsonObject {
  const members = Object.entries(added).map(([key, value]) => {
    const now = Object.hasOwn(settings, key) ? settings[key] : undefined;
    if (isObject(value) && (now === undefined || isObject(now)))
      return [key, withMembers(path, now ?? {}, value)] as const;
    if (now === undefined || now === value) return [key, value] as const;
    throw usageError(
      `'${path}' has ${key} set to ${JSON.stringify(now)} already, so it is not edited. Set it to ${JSON.stringify(value)} to send it here`,
    );
  });
  return { ...settings, ...Object.fromEntries(members) };
}

function holds(settings: JsonObject, added: JsonObject): boolean {
  return Object.entries(added).every(([key, value]) => {
    const now = settings[key];
    return isObject(value) ? isObject(now) && holds(now, value) : now === value;
  });
}
