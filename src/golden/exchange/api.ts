import {
  AnswerReader,
  ChatReader,
  type ResponseReader,
  ResponsesReader,
} from '../../instrumentation/readers/index.ts';
import { apiOfPath } from '../../wire/index.ts';
import type { WireRequest } from '../file/index.ts';

/** The APIs whose requests and answers can be read, by the last word of their path. */
const READER_OF_PATH: readonly (readonly [path: RegExp, reader: () => ResponseReader])[] = [
  [/\/chat\/completions$/, () => new ChatReader()],
  [/\/responses$/, () => new ResponsesReader()],
];

/** A reader for the answer to a request; undefined for an API that is not known here. */
export function readerFor({ path }: Pick<WireRequest, 'path'>): ResponseReader | undefined {
  const api = apiOfPath(path);
  if (api !== undefined) return new AnswerReader(api);
  const [bare = ''] = path.split('?');
  return READER_OF_PATH.find(([pattern]) => pattern.test(bare))?.[1]();
}
