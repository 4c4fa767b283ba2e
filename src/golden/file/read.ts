import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import {
  checkOptions,
  checkValue,
  kinds,
  ObservatoryError,
  type OptionKinds,
  packageFile,
} from '../../base/index.ts';
import { compileSchema, StepBudget } from '../../json/index.ts';
import { editedPlaces } from './checksum.ts';
import { FORMAT_VERSION, type Golden } from './format.ts';
import { readJournal } from './journal.ts';
import { A_PATH } from './option-kinds.ts';
import { expandExchanges, type PackedGolden } from './pack.ts';

export interface ReadGoldenOptions {
  /** Accept an expired golden. @defaultValue false */
  readonly allowExpired?: boolean | undefined;
  /** Accept a golden that was edited by hand. @defaultValue false */
  readonly allowEdited?: boolean | undefined;
  /** @defaultValue the current time */
  readonly now?: Date | undefined;
}

/** A problem of a golden that is readable nevertheless. */
export interface GoldenProblem {
  readonly code: 'GOLDEN_EDITED' | 'GOLDEN_EXPIRED';
  readonly message: string;
}

const OPTIONS: OptionKinds<ReadGoldenOptions> = {
  allowExpired: kinds.boolean,
  allowEdited: kinds.boolean,
  now: kinds.date,
};

/**
 * Reads a golden.
 *
 * @throws ObservatoryError `GOLDEN_UNREADABLE` when the file is missing, truncated, not JSON or not a golden;
 * `GOLDEN_TOO_NEW` when a later version of this package wrote it; `GOLDEN_EDITED` when its checksum does not match, with
 * the changed places; `GOLDEN_EXPIRED` after its expiry date.
 */
export async function readGolden(file: string | URL, options: ReadGoldenOptions = {}): Promise<Golden> {
  checkValue('the path of readGolden()', file, A_PATH);
  checkOptions(options, OPTIONS, 'readGolden()');
  const { golden, problems } = await inspectGolden(file, options.now);
  for (const { code, message } of problems) {
    const allowed = code === 'GOLDEN_EDITED' ? options.allowEdited : options.allowExpired;
    if (allowed !== true) throw new ObservatoryError(code, message);
  }
  return golden;
}

/**
 * Reads a golden to display it: being edited or expired is reported as a problem instead of an error.
 * @throws ObservatoryError `GOLDEN_UNREADABLE`, `GOLDEN_TOO_NEW`.
 */
export async function inspectGolden(
  file: string | URL,
  now: Date = new Date(),
): Promise<{ readonly golden: Golden; readonly problems: readonly GoldenProblem[] }> {
  const name = file instanceof URL ? file.pathname : file;
  const golden = parseGolden(await readText(file, name), name);
  const problems: GoldenProblem[] = [];
  const edited = editedPlaces(golden);
  if (edited.length > 0) {
    const places =
      edited.length > 5
        ? `${edited.slice(0, 5).join(', ')} and ${edited.length - 5} more`
        : edited.join(', ');
    const message = `The golden ${name} was changed after it was written, at ${places}; record it again, or restore it`;
    problems.push({ code: 'GOLDEN_EDITED', message });
  }
  if (golden.expires_at !== null && Date.parse(golden.expires_at) <= now.getTime()) {
    const message = `The golden ${name} expired at ${golden.expires_at}; record it again, or allow expired goldens`;
    problems.push({ code: 'GOLDEN_EXPIRED', message });
  }
  return { golden, problems };
}

/**
 * Parses a golden. Does not check its checksum and expiry date.
 * @param name used in errors.
 * @throws ObservatoryError `GOLDEN_UNREADABLE`, `GOLDEN_TOO_NEW`.
 */
export function parseGolden(text: string, name: string): Golden {
  let value: unknown;
  try {
    value = readJournal(text) ?? JSON.parse(text);
  } catch (cause) {
    const truncated = text.trimEnd().endsWith('}')
      ? 'is no JSON'
      : 'is truncated: its last character is not }';
    throw unreadable(`The golden ${name} ${truncated} (${(cause as Error).message})`, cause);
  }
  const version = (value as { format_version?: unknown } | null)?.format_version;
  if (typeof version === 'number' && version > FORMAT_VERSION) {
    throw new ObservatoryError(
      'GOLDEN_TOO_NEW',
      `The golden ${name} has format version ${version}, and this version of mcp-observatory reads up to ${FORMAT_VERSION}; update mcp-observatory`,
    );
  }
  const broken = schemaProblem(value);
  if (broken !== undefined) throw unreadable(`${name} is not a golden: ${broken}`);
  const golden = value as PackedGolden;
  return { ...golden, provider_responses: expandExchanges(golden.provider_responses) };
}

/** More than what is recorded of a program can take as JSON. */
const MAX_BYTES = 512 * 1024 * 1024;

async function readText(file: string | URL, name: string): Promise<string> {
  try {
    const about = await stat(file);
    if (!about.isFile() || about.size > MAX_BYTES)
      throw new Error(about.isFile() ? `it has ${about.size} bytes` : 'it is no file');
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw unreadable(`Cannot read the golden ${name}: ${(cause as Error).message}`, cause);
  }
}

function unreadable(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('GOLDEN_UNREADABLE', message, { cause });
}

/** Why a value is not a golden; undefined if it is one. */
function schemaProblem(value: unknown): string | undefined {
  // compileSchema caches.
  const schema = readFileSync(packageFile('schema/golden.schema.json'), 'utf8');
  const verdict = compileSchema(JSON.parse(schema)).check(value, StepBudget.unlimited());
  return verdict.valid ? undefined : verdict.message;
}
