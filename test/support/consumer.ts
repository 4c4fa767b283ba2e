/** A user's project in a temporary folder: the packed tarball, installed beside the packages a user would have. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { PATIENT } from './programs.ts';
import { makeOnce } from './templates.ts';

const run = promisify(execFile);
export const ROOT: string = join(import.meta.dirname, '../../..');

/** The Node of the newest line, fetched through npm, as a command. */
export const NODE_24 = ['npx', '--yes', '--package', 'node@24', 'node'] as const;

const nodes = new Map<number, Promise<string>>();

/** The path of the newest Node of a line, fetched through npm. */
export async function nodeOf(major: number): Promise<string> {
  const command = ['--yes', '--package', `node@${major}`, 'node', '-p', 'process.execPath'];
  const found =
    nodes.get(major) ?? run('npx', command, { cwd: tmpdir() }).then(({ stdout }) => stdout.trim());
  nodes.set(major, found);
  return await found;
}

/** A PATH on which `node` is the given one, for programs that npm starts. */
export function inFrontOfPath(node: string): { readonly PATH: string } {
  return { PATH: [dirname(node), process.env.PATH].join(delimiter) };
}

/** The environment of a user who has set nothing, whose caches and states are in a folder. */
export function environmentIn(folder: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    // `undefined` unsets: the run is kept in the folder, whatever this machine names.
    DATABASE_URL: undefined,
    MCP_OBSERVATORY_DATABASE_URL: undefined,
    OTEL_EXPORTER_OTLP_ENDPOINT: undefined,
    ...PATIENT,
    XDG_CACHE_HOME: join(folder, 'cache'),
    XDG_STATE_HOME: join(folder, 'state'),
  };
}

export class Consumers implements AsyncDisposable {
  /** The packed package. */
  readonly tarball: string;
  readonly #work: string;

  private constructor(work: string, tarball: string) {
    this.#work = work;
    this.tarball = tarball;
  }

  static async pack(): Promise<Consumers> {
    const work = await mkdtemp(join(tmpdir(), 'observatory-consumers-'));
    const packed = join(work, 'packed');
    makeOnce('packed', packed, () => {
      mkdirSync(packed);
      const pack = ['pack', '--silent', '--pack-destination', packed, '--ignore-scripts'];
      execFileSync('npm', pack, { cwd: ROOT });
    });
    return new Consumers(work, join(packed, readdirSync(packed)[0] as string));
  }

  /**
   * Installs the tarball beside `dependencies`, in a folder of its own; if `strict`, ERESOLVE fails the test. npm takes
   * the newest versions that `node` runs.
   */
  async install(
    name: string,
    dependencies: readonly string[],
    strict = true,
    node: string = process.execPath,
  ): Promise<string> {
    const folder = join(this.#work, name);
    await cp(join(ROOT, 'test/consumers'), folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
    const install = ['install', ...(strict ? ['--strict-peer-deps'] : []), '--no-audit', '--no-fund'];
    const env = { ...process.env, ...inFrontOfPath(node) };
    await run('npm', [...install, this.tarball, ...dependencies], { cwd: folder, env });
    return folder;
  }

  /** An empty folder. */
  async empty(name: string): Promise<string> {
    return await mkdtemp(join(this.#work, `${name}-`));
  }

  get env(): NodeJS.ProcessEnv {
    return environmentIn(this.#work);
  }

  /** Runs the command line by npx in a folder. */
  async npx(cwd: string, ...args: readonly string[]): Promise<string> {
    const command = ['--yes', `--package=${this.tarball}`, 'mcp-observatory', ...args];
    return (await run('npx', command, { cwd, env: this.env })).stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#work, { recursive: true, force: true });
  }
}
