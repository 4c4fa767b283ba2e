/** Kinds of options and arguments of goldens. */
import { either, kinds, type OptionKind, oneOf } from '../../base/index.ts';
import { isObject } from '../../json/index.ts';

/** What `readGolden` returns; a path is read first. */
export const A_GOLDEN: OptionKind = {
  expected: "a golden, as 'await readGolden(path)' returns it",
  // As read: in the file later requests are stored as differences from earlier ones.
  accepts: (value) =>
    isObject(value) &&
    isObject(value.input) &&
    Array.isArray(value.provider_responses) &&
    value.provider_responses.every(
      (each) => isObject(each) && isObject(each.request) && typeof each.request.path === 'string',
    ),
};
export const A_PATH: OptionKind = {
  expected: 'the path of a file',
  accepts: (value) => typeof value === 'string' || value instanceof URL,
};
export const A_CATEGORY: OptionKind = oneOf(
  'happy_path',
  'error_recovery',
  'provider_comparison',
  'edge_case',
);
export const A_DATE_OR_NULL: OptionKind = orNull(kinds.date);
export const A_NUMBER_OR_NULL: OptionKind = orNull(kinds.number);

function orNull(kind: OptionKind): OptionKind {
  return either(kind, { expected: 'null', accepts: (value) => value === null });
}
