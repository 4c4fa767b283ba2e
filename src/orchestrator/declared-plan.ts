/** A plan that the caller declares: calls with conditions over the results of earlier ones, made without the model. */
import { invalidOption } from '../base/index.ts';
import { isObject, type JsonObject, toJsonText } from '../json/index.ts';

export interface PlannedCall {
  /** By which conditions and arguments of later calls refer to its result. */
  readonly id?: string | undefined;
  /** `server.tool`. */
  readonly tool: string;
  /** Values, or `{ from: 'id', path?: 'a.b[0]' }` for a value of an earlier result. */
  readonly arguments?: JsonObject | undefined;
}

/** Exactly one test of a value of an earlier result; without a `path`, of the whole result. */
export interface PlanCondition {
  /** Id of the call. A call that was not made has no result. */
  readonly from: string;
  readonly path?: string | undefined;
  readonly equals?: string | number | boolean | null | undefined;
  readonly contains?: string | undefined;
  readonly above?: number | undefined;
  readonly below?: number | undefined;
  /** Whether there is such a value. */
  readonly exists?: boolean | undefined;
  /** Whether the call failed. */
  readonly failed?: boolean | undefined;
}

export interface PlanBranch {
  readonly if: PlanCondition;
  readonly then: readonly PlanStep[];
  readonly else?: readonly PlanStep[] | undefined;
}

export type PlanStep = PlannedCall | PlanBranch;

const TESTS = ['equals', 'contains', 'above', 'below', 'exists', 'failed'] as const;
const MAX_STEPS = 200;
const MAX_DEPTH = 10;

/** How a planned call ended. */
export interface PlanOutcome {
  readonly success: boolean;
  readonly result: unknown;
}

/** @throws ObservatoryError `INVALID_OPTION` that names the place. */
export function checkPlan(plan: unknown): void {
  let steps = 0;
  const ids = new Set<string>();
  const visit = (list: unknown, place: string, depth: number): void => {
    if (!Array.isArray(list)) throw invalidOption(`\`${place}\``, 'a list of steps', list);
    if (depth > MAX_DEPTH) throw invalidOption(`\`${place}\``, `nested at most ${MAX_DEPTH} deep`, depth);
    for (const [index, step] of list.entries()) {
      steps += 1;
      if (steps > MAX_STEPS) throw invalidOption('`plan`', `at most ${MAX_STEPS} steps`, steps);
      visitStep(step, `${place}[${index}]`, depth);
    }
  };
  const visitStep = (step: unknown, place: string, depth: number): void => {
    if (!isObject(step)) throw invalidOption(`\`${place}\``, 'a call or { if, then, else? }', step);
    if (step.if !== undefined) {
      checkCondition(step.if, `${place}.if`, ids);
      visit(step.then, `${place}.then`, depth + 1);
      if (step.else !== undefined) visit(step.else, `${place}.else`, depth + 1);
      return;
    }
    if (typeof step.tool !== 'string' || !step.tool.includes('.')) {
      throw invalidOption(`\`${place}.tool\``, 'a tool as `server.tool`', step.tool);
    }
    if (step.arguments !== undefined && !isObject(step.arguments)) {
      throw invalidOption(`\`${place}.arguments\``, 'an object', step.arguments);
    }
    for (const [name, value] of Object.entries((step.arguments ?? {}) as JsonObject)) {
      if (isReference(value)) checkFrom(value.from, `${place}.arguments.${name}.from`, ids);
    }
    if (step.id !== undefined && typeof step.id !== 'string')
      throw invalidOption(`\`${place}.id\``, 'a text', step.id);
    if (typeof step.id === 'string') ids.add(step.id);
  };
  visit(plan, 'plan', 0);
}

function checkCondition(condition: unknown, place: string, ids: ReadonlySet<string>): void {
  if (!isObject(condition)) throw invalidOption(`\`${place}\``, 'a condition', condition);
  checkFrom(condition.from, `${place}.from`, ids);
  const tests = TESTS.filter((test) => condition[test] !== undefined);
  if (tests.length !== 1)
    throw invalidOption(`\`${place}\``, `exactly one of ${TESTS.join(', ')}`, tests.join(', ') || 'none');
}

function checkFrom(from: unknown, place: string, ids: ReadonlySet<string>): void {
  if (typeof from !== 'string' || !ids.has(from))
    throw invalidOption(`\`${place}\``, 'the id of an earlier call', from);
}

/**
 * Makes the calls of a plan in order, each branch as its condition says. A call that fails ends the plan, unless a later
 * condition asks whether it failed.
 * @param call makes one call.
 * @returns false when a failed call ended it.
 */
export async function followPlan(
  plan: readonly PlanStep[],
  call: (tool: string, args: JsonObject) => Promise<PlanOutcome>,
): Promise<boolean> {
  const outcomes = new Map<string, PlanOutcome>();
  const asksFor = (id: string | undefined): boolean => id !== undefined && handled(plan).has(id);
  const follow = async (steps: readonly PlanStep[]): Promise<boolean> => {
    for (const step of steps) {
      if ('if' in step) {
        const branch = holds(step.if, outcomes) ? step.then : (step.else ?? []);
        if (!(await follow(branch))) return false;
        continue;
      }
      const outcome = await call(step.tool, filled(step.arguments ?? {}, outcomes));
      if (step.id !== undefined) outcomes.set(step.id, outcome);
      if (!outcome.success && !asksFor(step.id)) return false;
    }
    return true;
  };
  return await follow(plan);
}

/** Ids of the calls whose failure a condition asks about. */
function handled(steps: readonly PlanStep[]): Set<string> {
  return new Set(
    steps.flatMap((step): string[] => {
      if (!('if' in step)) return [];
      const own = step.if.failed === undefined ? [] : [step.if.from];
      return [...own, ...handled(step.then), ...handled(step.else ?? [])];
    }),
  );
}

function holds(condition: PlanCondition, outcomes: ReadonlyMap<string, PlanOutcome>): boolean {
  const { from, path, equals, contains, above, below, exists, failed } = condition;
  const outcome = outcomes.get(from);
  if (failed !== undefined) return outcome !== undefined && outcome.success !== failed;
  const value = outcome?.success === true ? valueAt(outcome.result, path) : undefined;
  if (exists !== undefined) return (value !== undefined) === exists;
  if (equals !== undefined)
    return value === equals || (value !== undefined && value !== null && String(value) === String(equals));
  if (contains !== undefined) {
    return Array.isArray(value) ? value.includes(contains) : readText(value).includes(contains);
  }
  const number = value === null || value === '' || Array.isArray(value) ? Number.NaN : Number(value);
  return above === undefined ? number < (below ?? Number.NaN) : number > above;
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value : (toJsonText(value) ?? '');
}

function isReference(value: unknown): value is { readonly from: string; readonly path?: string } {
  if (!isObject(value) || typeof value.from !== 'string') return false;
  return Object.keys(value).every((key) => key === 'from' || key === 'path');
}

function filled(args: JsonObject, outcomes: ReadonlyMap<string, PlanOutcome>): JsonObject {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) =>
      isReference(value) ? [name, valueAt(outcomes.get(value.from)?.result, value.path)] : [name, value],
    ),
  );
}

/** The value at a path like `orders[0].id`; undefined when there is none. */
export function valueAt(value: unknown, path = ''): unknown {
  let current = value;
  for (const key of path.split(/[.[\]]/).filter((part) => part !== '')) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as JsonObject)[key];
  }
  return current;
}
