/** How a program comes to load `mcp-observatory/register`: the flags that what starts it takes. */
import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const REGISTER = 'mcp-observatory/register';
const FLAGS = `--import ${REGISTER}`;
const EXEC = `--exec "node ${FLAGS}"`;

/**
 * What starts programs, and the flags after its name: nodejs.org/api/cli.html, tsx.is/node-enhancement,
 * bun.sh/docs/runtime/plugins, github.com/remy/nodemon, docs.nestjs.com/cli/usages.
 */
const LAUNCHERS: Readonly<Record<string, string>> = {
  node: FLAGS,
  tsx: FLAGS,
  'tsx watch': FLAGS,
  bun: `--preload ${REGISTER}`,
  nodemon: EXEC,
  'nest start': EXEC,
};

/** What stands before the name of a program. */
const BEFORE = /^(?:\w+=.*|cross-env|env|npx|exec)$/s;
const WORD = /&&|\|\||[;|&]|"[^"]*"|'[^']*'|[^\s"';|&]+/g;
const MAX_CHARS = 4096;

export interface Launch {
  readonly command: string;
  /** The file that it runs, in the folder; null where that is not seen. */
  readonly entry: string | null;
  readonly isThere: boolean;
}

interface Word {
  readonly text: string;
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
    if (flags === undefined || !startsFile(name, rest)) continue;
    const { end } = isPair ? next : word;
    const isDone = words.some(({ text }) => text.includes(REGISTER));
    return {
      command: isDone ? command : `${command.slice(0, end)} ${flags}${command.slice(end)}`,
      ...findEntry(rest, folder),
    };
  }
  return undefined;
}

function listCommands(command: string): Word[][] {
  const commands: Word[][] = [[]];
  for (const { 0: text, index } of command.matchAll(WORD)) {
    if (/^[;|&]/.test(text)) commands.push([]);
    else commands.at(-1)?.push({ text, end: index + text.length });
  }
  return commands;
}

/** Whether it starts a file, and no other program for it. */
function startsFile(name: string, rest: readonly Word[]): boolean {
  const has = (pattern: RegExp) => rest.some(({ text }) => pattern.test(text));
  if (name === 'nest start') return !has(/^(?:-e|--exec)$/);
  if (name === 'nodemon') return !has(/^(?:-x|--exec)$|\.[cm]?tsx?$/);
  if (name === 'bun') return has(/\.[cm]?[jt]sx?$/);
  return has(/^[^-]/) && !has(/^(?:-e|-p|-pe|--eval|--print|--test|--check|-c|--version|-v)$/);
}

function findEntry(rest: readonly Word[], folder: string): Pick<Launch, 'entry' | 'isThere'> {
  const names = rest
    .map(({ text }) => text.replace(/^["']|["']$/g, ''))
    .filter((text) => !text.startsWith('-'));
  for (const name of names) {
    const path = resolve(folder, name);
    const found = [path, `${path}.js`, join(path, 'index.js')].find(isFile);
    if (found !== undefined) return { entry: found, isThere: true };
  }
  const named = names.find((name) => /\.[cm]?[jt]sx?$/.test(name));
  return { entry: named === undefined ? null : resolve(folder, named), isThere: false };
}

export function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}
