import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** Folder of optional test data, which is not part of the repository. */
const FOLDER = process.env.OBSERVATORY_DATA ?? resolve(import.meta.dirname, '../../../../shared/data');

/** Options of a test that reads a data folder: skipped with a reason if the data is absent. */
export function needsData(folder: string): { skip: string | false } {
  return { skip: existsSync(resolve(FOLDER, folder)) ? false : `no test data in ${FOLDER}/${folder}` };
}

/** The path of a file or folder of the data. */
export function dataPath(path: string): string {
  return resolve(FOLDER, path);
}

/** The rows of a JSONL file of the data folder. */
export function readRows<T = Record<string, unknown>>(path: string): T[] {
  return readFileSync(resolve(FOLDER, path), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** The rows of a JSONL file of the data folder, or `undefined` when it is not there. */
export function readDataset(path: string): readonly Record<string, unknown>[] | undefined {
  return existsSync(resolve(FOLDER, path)) ? readRows(path) : undefined;
}

/** A JSON file of the data folder. */
export function readJson<T = unknown>(path: string): T {
  return JSON.parse(readFileSync(resolve(FOLDER, path), 'utf8')) as T;
}
