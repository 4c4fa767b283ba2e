/** What rules say about where arguments may come from. */
import { ObservatoryError } from '../../base/index.ts';
import {
  beginsWith,
  covers,
  type FieldDocument,
  type FieldPattern,
  readField,
  readPath,
  standsWithin,
} from './fields.ts';
import type { Origin } from './memory.ts';
import { comesFromOutside, type TracedValue } from './trace.ts';

export interface SourceDocument {
  /** The argument, or a part of it: `recipients`, `attachments[].file_id`. */
  readonly arg: string;
  /** `prompt`, `operator`, `approved`, and fields of results. */
  readonly from?: readonly FieldDocument[] | undefined;
  /** The argument is one of the values of this field of results, whole, and not a part of one. */
  readonly one_of_field?: FieldDocument | undefined;
  /** What becomes of a call whose argument came from elsewhere. Default: `ask`. */
  readonly else?: 'ask' | 'deny' | undefined;
}

export interface SourceRule {
  readonly arg: string;
  readonly path: FieldPattern['path'];
  readonly kinds: ReadonlySet<string>;
  readonly fields: readonly FieldPattern[];
  /** Whether the argument has to be the whole value of a field. */
  readonly isWhole: boolean;
  readonly otherwise: 'ask' | 'deny';
}

const KINDS: ReadonlySet<unknown> = new Set(['prompt', 'operator', 'approved']);

/** @throws ObservatoryError `POLICY_INVALID` */
export function compileSources(
  id: string,
  documents: readonly SourceDocument[],
  untrusted: readonly FieldPattern[],
): readonly SourceRule[] {
  return documents.map(({ arg, from: given = [], one_of_field: field, else: otherwise = 'ask' }) => {
    const where = `Rule '${id}', sources of '${arg}'`;
    const isWhole = field !== undefined;
    const from = isWhole ? [field] : given;
    const fields = from.filter((one) => !KINDS.has(one)).map((one) => readField(one, where));
    for (const field of fields)
      if (untrusted.some((outer) => covers(outer, field)))
        throw new ObservatoryError(
          'POLICY_INVALID',
          `${where}: '${field.server}.${field.tool}' is untrusted there, so nothing can come from it`,
        );
    if (isWhole && fields.every(({ path }) => path.length === 0))
      throw new ObservatoryError('POLICY_INVALID', `${where}: 'one_of_field' names a tool, and no field`);
    const kinds = new Set(from.filter((one): one is string => KINDS.has(one)));
    return { arg, path: readPath(arg), kinds, fields, isWhole, otherwise };
  });
}

/** The first condition that a call does not meet. @param traced undefined if there are too many values. */
export function findUnmet(
  rules: readonly SourceRule[],
  traced: readonly TracedValue[] | undefined,
  untrusted: readonly FieldPattern[],
): { readonly rule: SourceRule; readonly value: TracedValue | undefined } | undefined {
  for (const rule of rules) {
    if (traced === undefined) return { rule, value: undefined };
    const isFrom = (origin: Origin): boolean =>
      origin.kind === 'result'
        ? (origin.isWhole || !rule.isWhole) &&
          rule.fields.some((field) => standsWithin(origin, field)) &&
          !comesFromOutside(origin, untrusted)
        : rule.kinds.has(origin.kind);
    const value = traced.find(
      ({ path, whole, pieces }) =>
        beginsWith(path, rule.path) &&
        !whole.some(isFrom) &&
        !(pieces.length > 0 && pieces.every((origins) => origins.some(isFrom))),
    );
    if (value !== undefined) return { rule, value };
  }
  return undefined;
}
