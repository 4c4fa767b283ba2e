import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ObservatoryError } from '../../../base/index.ts';
import { type GoldenProblem, inspectGolden } from '../../../golden/index.ts';
import { ERROR_KINDS, type Exercised, exercised } from './coverage.ts';

/** One golden of a library. */
export interface ListedGolden {
  /** Relative to the library. */
  readonly file: string;
  readonly testName: string;
  readonly category: string;
  readonly provider: string;
  readonly model: string;
  readonly source: 'recorded' | 'scripted';
  readonly recordedAt: string | null;
  readonly expiresAt: string | null;
  readonly expired: boolean;
  readonly problems: readonly GoldenProblem[];
  readonly exchanges: number;
  readonly exercised: Exercised;
}

/** A file that should be a golden and cannot be read. */
export interface UnreadableGolden {
  readonly file: string;
  readonly message: string;
}

export interface GoldenLibrary {
  readonly goldens: readonly ListedGolden[];
  readonly unreadable: readonly UnreadableGolden[];
  readonly coverage: Coverage;
}

export interface Coverage {
  /** Goldens that call each tool; 0 for one that is offered and never called. */
  readonly tools: Readonly<Record<string, number>>;
  /** Goldens that meet each kind of trouble, every known kind among them. */
  readonly errorKinds: Readonly<Record<string, number>>;
}

/** A library of more files is no library. */
const MAX_FILES = 10_000;

/**
 * Reads all goldens below a folder: every `.json` file that has a `provider_responses`, or cannot be read at all.
 * @param now what counts as expired.
 * @throws ObservatoryError `INVALID_OPTION` when the folder cannot be read.
 */
export async function listGoldens(folder: string, now: Date = new Date()): Promise<GoldenLibrary> {
  const goldens: ListedGolden[] = [];
  const unreadable: UnreadableGolden[] = [];
  for (const path of await jsonFiles(folder)) {
    const file = relative(folder, path);
    try {
      const { golden, problems } = await inspectGolden(path, now);
      goldens.push({
        file,
        testName: golden.test_name,
        category: golden.category,
        provider: golden.input.provider,
        model: golden.versions.models.join(', ') || golden.input.model,
        source: golden.source,
        recordedAt: golden.recorded_at,
        expiresAt: golden.expires_at,
        expired: problems.some(({ code }) => code === 'GOLDEN_EXPIRED'),
        problems,
        exchanges: golden.provider_responses.length,
        exercised: exercised(golden),
      });
    } catch (error) {
      if (!ObservatoryError.isInstance(error)) throw error;
      if (!isOtherDocument(path)) unreadable.push({ file, message: error.message });
    }
  }
  return { goldens, unreadable, coverage: coverageOf(goldens) };
}

/** `shared/` holds what goldens have in common, such as tool definitions. */
function isOtherDocument(path: string): boolean {
  return /[\\/]shared[\\/]/.test(path);
}

async function jsonFiles(folder: string): Promise<string[]> {
  let entries: Awaited<ReturnType<typeof readEntries>>;
  try {
    entries = await readEntries(folder);
  } catch (cause) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Cannot read the folder '${folder}': ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
  const files = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/[\\/]node_modules[\\/]/.test(path))
    .sort();
  if (files.length > MAX_FILES) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `The folder '${folder}' holds ${files.length} JSON files; give that of the goldens`,
    );
  }
  return files;
}

function readEntries(folder: string) {
  return readdir(folder, { recursive: true, withFileTypes: true });
}

function coverageOf(goldens: readonly ListedGolden[]): Coverage {
  const tools: Record<string, number> = {};
  const errorKinds: Record<string, number> = {};
  for (const kind of ERROR_KINDS.keys()) errorKinds[kind] = 0;
  for (const { exercised: one } of goldens) {
    for (const tool of one.offered) tools[tool] ??= 0;
    for (const tool of one.called) tools[tool] = (tools[tool] ?? 0) + 1;
    for (const kind of one.errorKinds) errorKinds[kind] = (errorKinds[kind] ?? 0) + 1;
  }
  return { tools: sorted(tools), errorKinds: sorted(errorKinds) };
}

function sorted(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
}
