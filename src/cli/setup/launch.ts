/** How a program comes to load `mcp-observatory/register`: the flags that what starts it takes. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const REGISTER = 'mcp-observatory/register';
const FLAGS = `--import ${REGISTER}`;
const EXEC = `--exec "node ${FLAGS}"`;
/** Before what takes no flags of Node. The shell of Windows has no such form. */
const OPTIONS = `NODE_OPTIONS='${FLAGS}' `;

/**
 * What starts programs, and the flags after its name: nodejs.org/api/cli.html, tsx.is/node-enhancement,
 * bun.sh/docs/runtime/plugins, github.com/remy/nodemon, docs.nestjs.com/cli/usages.
 */
const LAUNCHERS: Readonly<Record<string, string>> = {
  node: FLAGS,
  tsx: FLAGS,
  'tsx watch': FLAGS,
  // In one word: before the word 'run' Bun takes no other form.
  bun: `--preload=${REGISTER}`,
  nodemon: EXEC,
  'nest start': EXEC,
};

/** What stands before the name of a program. */
const BEFORE = /^(?:\w+=.*|cross-env|env|npx|exec)$/s;
const WORD = /&&|\|\||[;|&]|(?:"[^"]*"|'[^']*'|[^\s"';|&])+/g;
const MAX_CHARS = 4096;

export interface Launch {
  readonly command: string;
  /** The file that it runs, in the folder, there or not; null where that is not seen. */
  readonly entry: string | null;
  /** Whether it is a tool of a package, a program of Node that may start others. */
  readonly isTool: boolean;
}

interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** @returns undefined where nothing in the command is known to start a program of Node or Bun. */
export function withRegister(command: string, folder: string): Launch | undefined {
  if (command.length > MAX_CHARS) return undefined;
  // The last of several is the program; those before it build it.
  for (const words of listCommands(command).reverse()) {
    const first = words.findIndex(({ text }) => !BEFORE.test(text));
    const [word, next] = first < 0 ? [] : words.slice(first);
    if (word === undefined) continue;
    const isPair = next !== undefined && Object.hasOwn(LAUNCHERS, `${word.text} ${next.text}`);
    const name = isPair ? `${word.text} ${next.text}` : word.text;
    const flags = Object.hasOwn(LAUNCHERS, name) ? LAUNCHERS[name] : undefined;
    const rest = words.slice(first + (isPair ? 2 : 1));
    const isTool = flags === undefined && hasTool(folder, name);
    if (!isTool && (flags === undefined || !startsFile(name, rest))) continue;
    const isDone = words.some(({ text }) => text.includes(REGISTER));
    // Options that are there may be of any form.
    if (isTool && !isDone && words.some(({ text }) => text.startsWith('NODE_OPTIONS='))) continue;
    const at = isTool ? (words[0]?.start ?? 0) : isPair ? next.end : word.end;
    const added = isDone ? '' : isTool ? OPTIONS : ` ${flags}`;
    return {
      command: `${command.slice(0, at)}${added}${command.slice(at)}`,
      isTool,
      entry: findEntry(rest, folder),
    };
  }
  return undefined;
}

function listCommands(command: string): Word[][] {
  const commands: Word[][] = [[]];
  for (const { 0: text, index } of command.matchAll(WORD)) {
    if (/^[;|&]/.test(text)) commands.push([]);
    else commands.at(-1)?.push({ text, start: index, end: index + text.length });
  }
  return commands;
}

/** Whether it is a command of a package that the folder has, and a program of Node: others take no options of it. */
function hasTool(folder: string, name: string): boolean {
  if (process.platform === 'win32' || !/^[\w@.-]+$/.test(name)) return false;
  const places = createRequire(join(folder, 'package.json')).resolve.paths(name) ?? [];
  const path = places.map((place) => join(place, '.bin', name)).find(isFile);
  // Where package managers set no link, a script of the shell starts it.
  const text = path === undefined ? '' : readBeginning(path);
  return /^#!.*\bnode\b/.test(text) || /^ *exec node /m.test(text);
}

function readBeginning(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(4 * MAX_CHARS);
    return bytes.toString('latin1', 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/** Whether it starts a file, and no other program for it. */
function startsFile(name: string, rest: readonly Word[]): boolean {
  const has = (pattern: RegExp) => rest.some(({ text }) => pattern.test(text));
  if (name === 'nest start') return !has(/^(?:-e|--exec)$/);
  if (name === 'nodemon') return !has(/^(?:-x|--exec)$|\.[cm]?tsx?$/);
  if (name === 'bun') return has(/\.[cm]?[jt]sx?$/);
  return has(/^[^-]/) && !has(/^(?:-e|-p|-pe|--eval|--print|--test|--check|-c|--version|-v)$/);
}

function findEntry(rest: readonly Word[], folder: string): string | null {
  const names = rest
    .map(({ text }) => text.replace(/^["']|["']$/g, ''))
    .filter((text) => !text.startsWith('-'));
  for (const name of names) {
    const path = resolve(folder, name);
    const found = [path, `${path}.js`, join(path, 'index.js')].find(isFile);
    if (found !== undefined) return found;
  }
  const named = names.find((name) => /\.[cm]?[jt]sx?$/.test(name));
  return named === undefined ? null : resolve(folder, named);
}

export function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}
