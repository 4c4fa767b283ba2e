/**
 * Goldens of the test suites, in a shorter form than those for users: without what is the same in all of them, and with
 * tool lists and system prompts in files of their own, named by their hash, which many goldens share.
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

/** The content of a file. */
interface TestGoldenFile extends Pick<Golden, 'versions' | 'input'> {
  /** The checksum of the whole golden. */
  readonly sha256: string;
  readonly exchanges: readonly (Omit<Packed, 'response' | 'duration_ms'> & {
    readonly response: Partial<Packed['response']>;
  })[];
}

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
  const packed = file.exchanges.map((exchange): Packed => {
    const response = { ...STREAM, ...exchange.response };
    return { ...exchange, response, duration_ms: 0 };
  });
  const { versions, input } = file;
  const golden = sealed({ test_name: name, versions, input, provider_responses: expandExchanges(packed) });
  if (golden.checksum.sha256 === file.sha256) return golden;
  throw new Error(`The test golden ${name} was edited by hand, or what it shares is another; make it again`);
}

export function writeTestGolden(name: string, folder: string, golden: TestGolden): void {
  const { versions, input, provider_responses } = golden;
  const exchanges = packExchanges(provider_responses).map(({ duration_ms: _, response, ...exchange }) => {
    const { status, headers, ...rest } = response;
    const isStream = JSON.stringify({ status, headers }) === JSON.stringify(STREAM);
    return { ...exchange, response: isStream ? rest : response };
  });
  const file = { versions, input, sha256: sealed(golden).checksum.sha256, exchanges };
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

function sealed(golden: TestGolden): Golden {
  return sealGolden({ ...HEAD, ...golden });
}

function write(file: string, value: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, formatLines(value));
}
