/** What is in a folder, and what has to change in it so that its programs are traced. */
import { readFileSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isObject, type JsonObject, readList, readObject, stringAt } from '../../json/index.ts';
import {
  decodeUtf8,
  type FileEdit,
  findEditable,
  formatLike,
  readIfThere,
  readJsonSettings,
} from '../command-line/index.ts';
import { isFile, withRegister } from './launch.ts';
import { nextChanges } from './next-app.ts';

const LAMBDA = 'AWS Lambda';

/** What the packages that an application depends on make of it, for its user to recognize. */
const KINDS: Readonly<Record<string, string>> = {
  next: 'Next.js',
  '@nestjs/core': 'Nest',
  express: 'Express',
  hono: 'Hono',
  fastify: 'Fastify',
  '@opentelemetry/sdk-node': 'an OpenTelemetry SDK of its own',
  '@modelcontextprotocol/sdk': 'MCP',
  '@modelcontextprotocol/server': 'an MCP server',
  '@modelcontextprotocol/client': 'an MCP client',
  '@types/aws-lambda': LAMBDA,
  '@middy/core': LAMBDA,
  serverless: LAMBDA,
};
const LAMBDA_FILES = ['serverless.yml', 'samconfig.toml'];

/** Folders in which coding agents and editors keep what belongs to a project. */
const AGENT_FOLDERS: Readonly<Record<string, string>> = {
  '.claude': 'claude-code',
  '.codex': 'codex',
  '.gemini': 'gemini-cli',
  '.vscode': 'vs-code',
};

/** Files in which clients keep the MCP servers of a project. */
const MCP_FILES = ['.mcp.json', '.cursor/mcp.json', '.vscode/mcp.json', '.gemini/settings.json'];

export interface Project {
  readonly folder: string;
  readonly manifest: JsonObject;
  readonly kinds: readonly string[];
  /** Clients that can be named, by what is in the folder. */
  readonly clients: readonly string[];
}

/** @returns undefined where there is no package.json. */
export function findProject(folder: string): Project | undefined {
  const path = join(folder, 'package.json');
  if (!isFile(path)) return undefined;
  const manifest = readJsonSettings(path, decodeUtf8(path, readFileSync(path)));
  const names = { ...readObject(manifest.dependencies), ...readObject(manifest.devDependencies) };
  const kinds = Object.entries(KINDS).flatMap(([name, kind]) => (Object.hasOwn(names, name) ? [kind] : []));
  if (LAMBDA_FILES.some((file) => isFile(join(folder, file)))) kinds.push(LAMBDA);
  return {
    folder,
    manifest,
    kinds: ['Node', ...new Set(kinds)],
    clients: Object.entries(AGENT_FOLDERS).flatMap(([name, client]) =>
      statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === true ? [client] : [],
    ),
  };
}

export interface SetupPlan {
  readonly changes: readonly FileEdit[];
  /** What could not be changed, and what to write instead. */
  readonly notes: readonly string[];
  /** The command that runs the program; null where none is known. */
  readonly command: string | null;
  readonly entry: string | null;
  /** Who has to run it instead; null where it can be run here. */
  readonly first: string | null;
}

const NOTHING: SetupPlan = { changes: [], notes: [], command: null, entry: null, first: null };

/** @param given the command with which the user runs the program. */
export function planChanges(project: Project, given: string | undefined): SetupPlan {
  const isNext = Object.hasOwn(readObject(project.manifest.dependencies), 'next');
  const plan = isNext ? planNext(project, given) : planScripts(project, given);
  const servers = MCP_FILES.map((name) => editServers(project.folder, name));
  return {
    ...plan,
    changes: [...plan.changes, ...servers.filter((found) => typeof found === 'object')],
    notes: [...plan.notes, ...servers.filter((found) => typeof found === 'string')],
  };
}

function planNext({ folder, manifest }: Project, given: string | undefined): SetupPlan {
  const isBuilt = isFile(join(folder, '.next/BUILD_ID'));
  const scripts = readObject(manifest.scripts);
  const script = (isBuilt ? ['start', 'dev'] : ['dev', 'start']).find((name) => Object.hasOwn(scripts, name));
  const command = given ?? (script === undefined ? null : `npm run ${script}`);
  return { ...NOTHING, ...nextChanges(folder), command };
}

const DEPLOYED = 'AWS Lambda runs the function, and sends its first span when it is called there';
const STARTS = /^(?:start|dev|serve)(?::|$)/;

function planScripts({ folder, manifest, kinds }: Project, given: string | undefined): SetupPlan {
  const path = findEditable(join(folder, 'package.json'));
  const scripts = readObject(manifest.scripts);
  const known = Object.entries(scripts).flatMap(([name, script]) => {
    const launch = STARTS.test(name) && typeof script === 'string' ? withRegister(script, folder) : undefined;
    return launch === undefined ? [] : [{ ...launch, name }];
  });
  const started = known.filter(({ isTool }) => !isTool);
  // A file of a function is started by its platform alone.
  const isFunction = kinds.includes(LAMBDA);
  const found = isFunction ? undefined : defaultStart(folder, manifest);
  const main = Object.hasOwn(scripts, 'start') ? undefined : (given ?? found);
  const added = main === undefined || started.length > 0 ? undefined : withRegister(main, folder);
  const programs = added === undefined ? started : [{ ...added, name: 'start' }];
  const launches = programs.length > 0 ? programs : known;
  const before = readIfThere(path);
  const text = launches.reduce(
    (all, { name, command }) => withScript(path, all, name, command),
    decodeUtf8(path, before),
  );
  const run = launches.find(({ name }) => name === 'start') ?? launches[0];
  const own = given === undefined ? undefined : withRegister(given, folder);
  const { entry = null } = own ?? run ?? {};
  const command = own?.command ?? given ?? (run === undefined ? null : `npm run ${run.name}`);
  return {
    changes: before?.toString() === text ? [] : [{ path, before, text }],
    notes: launches.length > 0 || own !== undefined ? [] : [explainScript(scripts, kinds)],
    command,
    entry,
    first: isFunction && command === null ? DEPLOYED : null,
  };
}

/** What npm starts without a script, and what Node loads of a package. */
function defaultStart(folder: string, manifest: JsonObject): string | undefined {
  const bin = typeof manifest.bin === 'object' ? Object.values(readObject(manifest.bin))[0] : manifest.bin;
  const names = ['server.js', bin, manifest.main, 'index.js', 'index.mjs'];
  const found = names.find((name) => typeof name === 'string' && isFile(join(folder, name)));
  return found === undefined ? undefined : `node ${found}`;
}

function explainScript(scripts: JsonObject, kinds: readonly string[]): string {
  const flags = "NODE_OPTIONS='--import mcp-observatory/register'";
  if (kinds.includes(LAMBDA)) return `Set ${flags} in the environment of the function, and deploy it again`;
  const name = ['start', ...Object.keys(scripts)].find(
    (each) => STARTS.test(each) && stringAt(scripts, each),
  );
  return name === undefined
    ? "No script of package.json starts a program. Say how it is started: --run 'node app.js'"
    : `The ${name} script '${stringAt(scripts, name)}' starts nothing that is known here. Have it run with ${flags}`;
}

/** A package.json with a script in it; only its own characters change where they are found. */
function withScript(path: string, text: string, name: string, command: string): string {
  const manifest = readJsonSettings(path, text);
  const scripts = readObject(manifest.scripts);
  if (scripts[name] === command) return text;
  const wanted = formatLike(text, { ...manifest, scripts: { ...scripts, [name]: command } });
  const key = JSON.stringify(name);
  const value = JSON.stringify(scripts[name] ?? '');
  for (let at = text.indexOf(key); at >= 0; at = text.indexOf(key, at + 1)) {
    const gap = /^\s*:\s*/.exec(text.slice(at + key.length, at + key.length + 64))?.[0].length ?? 0;
    const from = at + key.length + gap;
    if (gap === 0 || !text.startsWith(value, from)) continue;
    const edited = `${text.slice(0, from)}${JSON.stringify(command)}${text.slice(from + value.length)}`;
    if (formatLike(text, readJsonSettings(path, edited)) === wanted) return edited;
  }
  return wanted;
}

/** The MCP servers of this folder that clients start with Node. @returns a text where the file cannot be edited. */
function editServers(folder: string, name: string): FileEdit | string | undefined {
  const file = join(folder, name);
  if (!isFile(file)) return undefined;
  try {
    const path = findEditable(file);
    const before = readFileSync(path);
    const text = decodeUtf8(path, before);
    const settings = readJsonSettings(path, text);
    const edited = { ...settings };
    for (const member of ['mcpServers', 'servers']) {
      if (!isObject(settings[member])) continue;
      const servers = Object.entries(settings[member]).map(([key, one]) => [key, withFlags(one, folder)]);
      edited[member] = Object.fromEntries(servers);
    }
    const isSame = JSON.stringify(edited) === JSON.stringify(settings);
    return isSame ? undefined : { path, before, text: formatLike(text, edited) };
  } catch (error) {
    return `${(error as Error).message}. Servers that it starts: node --import mcp-observatory/register`;
  }
}

function withFlags(server: unknown, folder: string): unknown {
  const { command, args } = readObject(server);
  const words = readList(args);
  const entry = words.find((word) => typeof word === 'string' && !word.startsWith('-'));
  if (command !== 'node' || typeof entry !== 'string' || JSON.stringify(words).includes('mcp-observatory'))
    return server;
  const path = resolve(folder, entry);
  if (!path.startsWith(`${folder}${sep}`) || !isFile(path)) return server;
  // A client that names the file by its whole path may start it in any folder.
  const register = isAbsolute(entry)
    ? pathToFileURL(join(folder, 'node_modules/mcp-observatory/dist/lib/register.js')).href
    : 'mcp-observatory/register';
  return { ...readObject(server), args: ['--import', register, ...words] };
}

export function toShownPath(folder: string, path: string): string {
  const within = relative(folder, path);
  return within.startsWith('..') || isAbsolute(within) ? path : within;
}
