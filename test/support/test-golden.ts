/**
 * Goldens of the test suites, in a shorter form than those for users: without what is the same in all of them; with
 * tool lists and system prompts in files of their own, named by their hash, which many goldens share; and as the
 * difference to one opening exchange for each provider, in `openings.json`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expandExchanges, packExchanges } from '../../src/golden/file/pack.ts';
import { formatLines } from '../../src/golden/file/write.ts';
import { FORMAT_VERSION, type Golden, sealGolden } from '../../src/golden/index.ts';
import { sha256Hex } from '../../src/json/index.ts';

/** Goldens of the test suites; the library for users is in `goldens/`. */
export const TEST_GOLDENS: string = fileURLToPath(new URL('../../../test/goldens', import.meta.url));
/** Folder of the values that goldens share, beside them. */
const SHARED = 'shared';
/** Shorter values stay in their goldens. */
const MIN_SHARED_CHARS = 300;

/** What is the same in all of them. */
const HEAD = {
  format_version: FORMAT_VERSION,
  description: '',
  category: 'edge_case',
  runner: 'other',
  source: 'scripted',
  recorded_at: null,
  expires_at: null,
  golden_output: {},
  comparison: { final_answer: { check: 'any' }, matchers: {}, bounds: {} },
  mcp_cassette: null,
} as const;
/** An answer has this head when it has none of its own. */
const STREAM = { status: 200, headers: { 'content-type': 'text/event-stream' } } as const;

export type TestGolden = Pick<Golden, 'test_name' | 'versions' | 'input' | 'provider_responses'>;
type Packed = ReturnType<typeof packExchanges>[number];
type Head = Pick<Golden, 'versions' | 'input'>;

/** What a golden of a provider has unless it says otherwise. */
interface Opening extends Head {
  /** Precedes the exchanges of each golden as its exchange 0. */
  readonly exchange: Omit<Golden['provider_responses'][number], 'duration_ms'>;
}

/** The content of a file. */
interface TestGoldenFile extends Partial<Head> {
  readonly opening?: string | undefined;
  /** The checksum of the whole golden. */
  readonly sha256: string;
  readonly exchanges: readonly (Partial<Omit<Packed, 'response'>> &
    Pick<Packed, 'request'> & { readonly response: Partial<Packed['response']> })[];
}

const openings = JSON.parse(readFileSync(join(TEST_GOLDENS, 'openings.json'), 'utf8')) as Readonly<
  Record<string, Opening>
>;

/**
 * @param name of the golden's file, below the folder and without its ending.
 * @throws where the file, with what it shares, is not the golden that was written.
 */
export async function readTestGolden(name: string, folder: string = TEST_GOLDENS): Promise<Golden> {
  const shared = (hash: string): unknown =>
    JSON.parse(readFileSync(join(folder, SHARED, `${hash}.json`), 'utf8'));
  const file = JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8'), (_, value) => {
    const hash = (value as { shared?: unknown } | null)?.shared;
    return typeof hash === 'string' ? shared(hash) : value;
  }) as TestGoldenFile;
  const opening = file.opening === undefined ? undefined : openings[file.opening];
  const before = exchangesBefore(opening);
  const packed = file.exchanges.map((exchange, at): Packed => {
    const token_usage = opening?.exchange.token_usage ?? null;
    const isUsual = exchange.response.status === undefined;
    const response = { ...(isUsual && headOf(opening)), ...exchange.response } as Packed['response'];
    return { iteration: at + 1, token_usage, ...exchange, response, duration_ms: 0 };
  });
  const expanded = expandExchanges([...before, ...packed]).slice(before.length);
  const { versions, input } = { ...opening, ...file } as Head;
  const golden = sealed({ test_name: name, versions, input, provider_responses: expanded });
  if (golden.checksum.sha256 === file.sha256) return golden;
  throw new Error(`The test golden ${name} was edited by hand, or what it shares is another; make it again`);
}

export function writeTestGolden(name: string, folder: string, golden: TestGolden): void {
  const { versions, input, provider_responses } = golden;
  const opening = openings[input.provider];
  const before = exchangesBefore(opening);
  const packed = packExchanges([...before, ...provider_responses]).slice(before.length);
  const head = JSON.stringify(headOf(opening));
  const exchanges = packed.map(({ duration_ms: _, iteration, token_usage, response, ...exchange }, at) => {
    const { status, headers, line_end, ...rest } = response;
    const isUsual = JSON.stringify({ status, headers, line_end }) === head;
    return {
      ...(iteration !== at + 1 && { iteration }),
      ...exchange,
      ...(isOther(token_usage, opening?.exchange.token_usage ?? null) && { token_usage }),
      response: isUsual ? rest : response,
    };
  });
  const file = {
    ...(opening !== undefined && { opening: input.provider }),
    ...(isOther(versions, opening?.versions) && { versions }),
    ...(isOther(input, opening?.input) && { input }),
    sha256: sealed(golden).checksum.sha256,
    exchanges,
  };
  const text = JSON.stringify(file, function (this: { role?: unknown }, key, value: unknown) {
    const isPrompt =
      key === 'system' || key === 'systemInstruction' || (key === 'content' && this.role === 'system');
    const json = isPrompt || key === 'tools' ? JSON.stringify(value) : '';
    if (json.length < MIN_SHARED_CHARS) return value;
    const hash = sha256Hex(json).slice(0, 16);
    write(join(folder, SHARED, `${hash}.json`), value);
    return { shared: hash };
  });
  write(join(folder, `${name}.json`), JSON.parse(text));
}

function exchangesBefore(opening: Opening | undefined): Golden['provider_responses'] {
  return opening === undefined ? [] : [{ ...opening.exchange, duration_ms: 0 }];
}

/** What an answer has unless it says otherwise. */
function headOf(opening: Opening | undefined): Partial<Packed['response']> {
  const { status, headers, line_end } = { ...STREAM, ...opening?.exchange.response };
  return { status, headers, ...(line_end !== undefined && { line_end }) };
}

function isOther(value: unknown, usual: unknown): boolean {
  return JSON.stringify(value) !== JSON.stringify(usual);
}

function sealed(golden: TestGolden): Golden {
  return sealGolden({ ...HEAD, ...golden });
}

function write(file: string, value: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  // The lines show what changed; an indent of each would be a fifth of the file.
  writeFileSync(file, formatLines(value).replace(/^ +/gm, ''));
}
