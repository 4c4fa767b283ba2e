/** Fields of results as a policy names them: `contacts.search[].email`. */
import { ObservatoryError } from '../../base/index.ts';
import { isObject } from '../../json/index.ts';

/** A field of results: `contacts.search[].email`, or an object where a server or a tool has a dot in its name. */
export type FieldDocument =
  | string
  | { readonly server: string; readonly tool: string; readonly field?: string | undefined };

/** Keys and indices from the root of a result to a value. */
export type FieldPath = readonly (string | number)[];

/** Where a value stood. */
export interface ResultField {
  readonly server: string;
  readonly tool: string;
  readonly path: FieldPath;
}

export interface FieldPattern {
  readonly server: string;
  /** `*` is any tool of the server. */
  readonly tool: string;
  /** Keys; undefined is any index. */
  readonly path: readonly (string | undefined)[];
}

const NAMED = /^([^.[\]]+)\.([^.[\]]+)((?:\.[^.[\]]+|\[\])*)$/;
const PATH = /^(?:\.?[^.[\]]+|\[\])?(?:\.[^.[\]]+|\[\])*$/;

/** @throws ObservatoryError `POLICY_INVALID` */
export function readField(given: FieldDocument, where: string): FieldPattern {
  const wrong = (): Error =>
    new ObservatoryError(
      'POLICY_INVALID',
      `${where}: '${JSON.stringify(given)}' names no field of a result, such as 'contacts.search[].email'`,
    );
  if (isObject(given)) {
    const { server, tool, field = '' } = given as Exclude<FieldDocument, string>;
    if (!PATH.test(field)) throw wrong();
    return { server, tool, path: readPath(field) };
  }
  const [, server, tool, path = ''] = NAMED.exec(given) ?? [];
  if (server === undefined || tool === undefined) throw wrong();
  return { server, tool, path: readPath(path) };
}

/** `recipients[].email` as keys; undefined is any index. */
export function readPath(path: string): readonly (string | undefined)[] {
  return [...path.matchAll(/\[\]|[^.[\]]+/g)].map(([part]) => (part === '[]' ? undefined : part));
}

export function standsWithin({ server, tool, path }: ResultField, pattern: FieldPattern): boolean {
  if (server !== pattern.server || (pattern.tool !== '*' && pattern.tool !== tool)) return false;
  if (beginsWith(path, pattern.path)) return true;
  // Servers give a list of one as the one.
  return pattern.path[0] === undefined && beginsWith(path, pattern.path.slice(1));
}

export function beginsWith(path: FieldPath, pattern: FieldPattern['path']): boolean {
  return (
    pattern.length <= path.length &&
    pattern.every((key, i) => (key === undefined ? typeof path[i] === 'number' : path[i] === key))
  );
}

/** Whether everything in `inner` is within `outer`. */
export function covers(outer: FieldPattern, inner: FieldPattern): boolean {
  return (
    outer.server === inner.server &&
    (outer.tool === '*' || outer.tool === inner.tool) &&
    outer.path.length <= inner.path.length &&
    outer.path.every((key, i) => key === inner.path[i])
  );
}

/** Names a field, and not something that the result is about. */
export const isFieldName = (key: string): boolean => /^[A-Za-z_][\w-]{0,40}$/.test(key);

/** A path as a policy would name it. A key that is not a plain name may be content, so it is `*`. */
export function formatPath(path: FieldPath): string {
  const text = path
    .map((key) => (typeof key === 'number' ? '[]' : `.${isFieldName(key) ? key : '*'}`))
    .join('');
  return text.replace(/^\./, '').slice(0, 200);
}
