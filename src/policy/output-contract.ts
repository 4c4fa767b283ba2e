/** Puts together how the results of a tool are checked: its own outputSchema, the policy's word, a registered type. */

import type { SchemaVerdict } from '../json/index.ts';
import { isObject } from '../json/index.ts';
import type { CatalogueTool } from './catalogue.ts';
import { DEFAULT_MAX_BYTES, type OutputContract, type ParsesOutput, zodCheck } from './output.ts';
import type { Policy } from './policy.ts';
import { compileRuleSchema } from './policy-file.ts';
import { declaredArguments } from './tool-definition.ts';

/** zod types, or others with `safeParse`, by server and tool. */
export type OutputTypes = Readonly<Record<string, Readonly<Record<string, ParsesOutput>>>>;

type Check = (value: unknown) => SchemaVerdict;

/** Compiled `outputs` schemas of a policy, by the schema object. */
const compiled = new WeakMap<object, Check>();

/** The contract of a tool's results, or undefined when nobody has typed them. */
export function outputContract(
  tool: CatalogueTool,
  policy: Policy | undefined,
  types: OutputTypes,
): OutputContract | undefined {
  const rules = ownMember(ownMember(policy?.document.outputs, tool.server), tool.name);
  const type = ownMember(ownMember(types, tool.server), tool.name);
  const { outputSchema, inputSchema } = tool.definition;
  const checks: Check[] = [];
  if (tool.checks?.output !== undefined) checks.push((value) => tool.checks?.output?.check(value) ?? FAILED);
  if (rules?.schema !== undefined) checks.push(compileOnce(`${tool.server}/${tool.name}`, rules.schema));
  if (type !== undefined) checks.push(zodCheck(type));
  const isUntyped = rules?.untyped === true && checks.length === 0;
  if (checks.length === 0 && !isUntyped) return undefined;
  const schema = rules?.schema ?? outputSchema;
  const declared = schema === undefined ? undefined : declaredArguments(schema);
  return {
    checks,
    isUntyped,
    declared:
      declared === undefined
        ? undefined
        : { names: declared.names, isOpen: declared.isExplicit || declared.patterns.length > 0 },
    echo: rules?.echo ?? commonIds(inputSchema, schema),
    maxBytes: rules?.max_bytes ?? policy?.document.limits?.output_bytes ?? DEFAULT_MAX_BYTES,
    text: rules?.text ?? 'match',
  };
}

/** A server may name its tool `toString`: only own members count. */
function ownMember<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

const FAILED: SchemaVerdict = { valid: false, failed: true, message: 'the output schema is gone' };

function compileOnce(where: string, schema: object): Check {
  let check = compiled.get(schema);
  if (check === undefined) {
    check = compileRuleSchema(`output '${where}'`, schema);
    compiled.set(schema, check);
  }
  return check;
}

/** Names such as `id` and `doc_id` that are both asked for and given back: the answer is about what was asked. */
function commonIds(inputSchema: unknown, outputSchema: unknown): Readonly<Record<string, string>> {
  const [inputs, outputs] = [requiredOf(inputSchema), requiredOf(outputSchema)];
  const ids = inputs.filter((name) => /(?:^|_)id$|[a-z]Id$/.test(name) && outputs.includes(name));
  return Object.fromEntries(ids.map((name) => [name, name]));
}

function requiredOf(schema: unknown): readonly string[] {
  const required = isObject(schema) ? schema.required : undefined;
  return Array.isArray(required) ? required.filter((name): name is string => typeof name === 'string') : [];
}
