// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expansions of the shell
/**
 * Commands made at random are run by a real bash in a folder of their own, where programs only write down that they ran:
 * each that ran, and each file that was made, is an action of the command, or something in it could not be read.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { listCalls } from '../src/cli/hook/agent-calls.ts';
import { readCommand } from '../src/policy/index.ts';
import { random } from './support/random.ts';
import { tempDir } from './support/temp-dir.ts';

const PROGRAMS = ['alpha', 'beta', 'gamma', 'delta'];
/** Real programs that run others. None of them is given a path outside of the folder. */
const RUNNERS = ['env', 'xargs', 'find', 'bash', 'sh', 'nice', 'timeout', 'nohup'];

class Sandbox {
  readonly #bin = join(tempDir(), 'bin');
  readonly #work = join(tempDir(), 'work');
  readonly #log = join(tempDir(), 'log');

  constructor() {
    mkdirSync(this.#bin);
    const script = join(this.#bin, '.stub');
    writeFileSync(script, '#!/bin/sh\necho "${0##*/}" >> "$LOG"\n');
    chmodSync(script, 0o755);
    for (const program of PROGRAMS) symlinkSync(script, join(this.#bin, program));
    for (const runner of RUNNERS) {
      const real = ['/usr/bin', '/bin'].map((folder) => join(folder, runner)).find(existsSync);
      if (real !== undefined) symlinkSync(real, join(this.#bin, runner));
    }
  }

  /** What ran, and the files that were made. */
  run(command: string): { programs: readonly string[]; files: readonly string[] } {
    rmSync(this.#work, { recursive: true, force: true });
    mkdirSync(this.#work);
    writeFileSync(this.#log, '');
    spawnSync('/bin/bash', ['--norc', '-c', command], {
      cwd: this.#work,
      env: { PATH: this.#bin, LOG: this.#log },
      input: 'alpha\nbeta\n',
      timeout: 5_000,
      killSignal: 'SIGKILL',
    });
    const programs = readFileSync(this.#log, 'utf8').split('\n').filter(Boolean);
    return { programs: [...new Set(programs)], files: readdirSync(this.#work) };
  }
}

/** A maker of commands: each part is chosen at random, in one of the ways in which shells take it. */
class Maker {
  readonly #below: (below: number) => number;

  constructor(seed: number) {
    this.#below = random(seed);
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)] as T;
  }

  #name(): string {
    const name = this.#pick(PROGRAMS);
    const cut = 1 + this.#below(name.length - 1);
    const [head, tail] = [name.slice(0, cut), name.slice(cut)];
    const hex = [...name].map((letter) => `\\x${letter.charCodeAt(0).toString(16)}`).join('');
    return this.#pick([
      name,
      name,
      name,
      `${head}''${tail}`,
      `"${head}"${tail}`,
      `\\${name}`,
      `$'${hex}'`,
      `${head}\\\n${tail}`,
      `${head}$()${tail}`,
      `${head}$x${tail}`,
      `${head}{,}${tail}`,
      `$(echo ${name})`,
      `{${name},w}`,
    ]);
  }

  #word(depth: number): string {
    if (depth > 3) return 'w';
    return this.#pick([
      () => 'w',
      () => '-w',
      () => '"a b"',
      () => `'; ${this.#pick(PROGRAMS)}'`,
      () => `$(${this.make(depth + 1)})`,
      () => `"$(${this.make(depth + 1)})"`,
      () => `\`${this.#name()}\``,
      () => `<(${this.make(depth + 1)})`,
      () => '$x',
      () => '*',
      () => `\${x:-$(${this.#name()})}`,
      () => `$((1+1))`,
      () => `# ${this.#pick(PROGRAMS)}`,
      () => 'x=1',
      () => '\\;',
    ])();
  }

  #simple(depth: number): string {
    const words = Array.from({ length: this.#below(3) }, () => this.#word(depth));
    const redirect =
      this.#below(100) < 20
        ? ` ${this.#pick(['>', '>>', '2>', '&>', '>|'])} ${this.#pick(['out', '"o"ut2', 'o$()3'])}`
        : '';
    const prefix = this.#below(100) < 10 ? 'x=1 ' : '';
    return `${prefix}${[this.#name(), ...words].join(' ')}${redirect}`;
  }

  #nested(depth: number): string {
    const inner = this.make(depth + 1);
    return this.#pick([
      () => `(${inner})`,
      () => `{ ${inner}\n}`,
      () => `if ${inner}\nthen ${this.make(depth + 1)}\nfi`,
      () => `for i in 1; do ${inner}\ndone`,
      () => `while ${this.#name()} && false; do :; done`,
      () => `case w in w) ${inner}\n;; esac`,
      () => `f() { ${inner}\n}; f`,
      () => `! ${inner}`,
      () => `eval ${quoted(inner)}`,
      () => `bash -c ${quoted(inner)}`,
      () => `sh -c ${quoted(this.#simple(depth + 1))}`,
      () => `bash <<'E'\n${inner}\nE\n`,
      () => `bash <<< ${quoted(inner)}`,
      () => `: <<E\n$(${this.#simple(depth + 1)})\nE\n`,
      () => `env y=1 ${this.#name()} w`,
      () => `xargs ${this.#name()}`,
      () => `xargs -I{} {}`,
      () => `find . -exec ${this.#name()} {} \\;`,
      () => `nice -n 1 timeout 5 ${this.#name()}`,
      () => `command ${this.#name()}`,
      () => `x=${this.#name()}; $x`,
      () => `trap ${quoted(this.#name())} EXIT`,
      () => `alias w=${this.#pick(PROGRAMS)}; w`,
      () => `[[ w == $(${this.#name()}) ]]`,
      () => `arr=($(${this.#name()}))`,
      () => `: $((\${y:-1} + $(${this.#name()}; echo 1)))`,
      () => `test -v 'a[$(${this.#name()})]'`,
      () => `coproc ${this.#name()}`,
      () => `echo ${this.#pick(PROGRAMS)} | bash`,
      () => `hash -p bin/w w; ${this.#name()}`,
    ])();
  }

  make(depth = 0): string {
    const one = (): string =>
      depth < 3 && this.#below(100) < 35 ? this.#nested(depth) : this.#simple(depth);
    const parts = [one()];
    while (this.#below(100) < 30 && parts.length < 4)
      parts.push(this.#pick([';', '&&', '||', '|', '&', '\n', ';\n']), one());
    return parts.join(' ');
  }
}

function quoted(code: string): string {
  return `'${code.replaceAll("'", "'\\''")}'`;
}

test('what a real bash runs and writes is what the command was read to do', {
  skip: !existsSync('/bin/bash'),
}, (t) => {
  const seed = Number(process.env.FUZZ_SEED ?? 20_261_127);
  const count = Number(process.env.FUZZ_COMMANDS ?? 400);
  const maker = new Maker(seed);
  const sandbox = new Sandbox();
  let read = 0;
  let ran = 0;
  for (let index = 0; index < count; index += 1) {
    const command = maker.make();
    const actions = readCommand(command);
    if (actions.some(({ kind }) => kind === 'unreadable')) continue;
    read += 1;
    const { programs, files } = sandbox.run(command);
    ran += programs.length;
    const known = new Set(actions.flatMap((action) => ('program' in action ? [action.program] : [])));
    const written = new Set(actions.flatMap((action) => (action.kind === 'write_file' ? [action.path] : [])));
    const shown = `seed ${seed}, command ${index}: ${JSON.stringify(command)} read as ${JSON.stringify(actions)}`;
    for (const program of programs) assert.ok(known.has(program), `${program} ran: ${shown}`);
    for (const file of files) assert.ok(written.has(file), `${file} was made: ${shown}`);
  }
  t.diagnostic(`${read} of ${count} commands were read whole; ${ran} programs ran`);
  assert.ok(read > count / 5 && ran > count / 5);
});

test('folders that are read whole are looked into as far as one command may ask, and what is beyond that is told', () => {
  const folder = tempDir();
  const names = Array.from({ length: 8 }, (_, at) => `part${at}`);
  for (const name of names) {
    mkdirSync(join(folder, name));
    for (let at = 0; at < 6_000; at += 1) writeFileSync(join(folder, name, `f${at}`), '');
  }
  const look = (...parts: string[]) => {
    const calls = listCalls({ kind: 'shell', command: `cp -r ${parts.join(' ')} all` }, folder);
    const isTold = calls.some(({ args }) => /more files than can be looked at/.test(String(args.why)));
    return { held: calls.flatMap(({ holds = [] }) => holds).length, isTold };
  };
  const [first = '', ...others] = names;
  const one = look(first);
  assert.ok(one.held > 0 && !one.isTold);
  assert.deepEqual(look(first, first, first), one, 'what was listed is not listed again');
  const two = look(first, ...others.slice(0, 1));
  assert.deepEqual(two, { held: 2 * one.held, isTold: false });
  const all = look(first, ...others);
  assert.ok(all.isTold && all.held < names.length * one.held, `${all.held} of ${names.length} folders`);
});
