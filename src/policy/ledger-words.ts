/** What a policy says about calls before this one, and what a call then needs of the ledger. */
import { type JsonObject, StepBudget, sha256Hex } from '../json/index.ts';
import { type Refusal, refusal } from './decision.ts';
import {
  LASTING,
  type LedgerRequest,
  type LedgerTake,
  nameAt,
  pathsIn,
  type SequenceDocument,
  type TotalDocument,
  toUnits,
  valuesAt,
} from './ledger/index.ts';
import { compileOnce, type Once, toEffectKey, toIdempotencyKey } from './once.ts';
import { invalidPolicy, type PolicyDocument } from './policy-file.ts';
import type { ReasonCode } from './reasons/index.ts';
import { applies, type CompiledRule, namesTool } from './rule.ts';
import { type FieldDocument, type FieldPattern, readField } from './sources/index.ts';

/** What is known of a call that is planned. */
export interface CountedCall {
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  readonly caller: string;
  readonly run: string;
  readonly digest: string | null;
  /** The rules that allow it; undefined if others may apply too. */
  readonly allowedBy?: readonly string[] | undefined;
}

export interface CallPlan {
  readonly request: LedgerRequest;
  /** Why the call is refused where a take is, by its position. */
  readonly whyNot: readonly (Refusal & { readonly id: string })[];
  readonly once: Once | undefined;
}

interface Total extends TotalDocument {
  readonly patterns: readonly FieldPattern[];
  readonly most: bigint;
}

interface Sequence extends SequenceDocument {
  readonly later: readonly FieldPattern[];
  readonly earlier: readonly FieldPattern[];
}

type Wanted = readonly (LedgerTake & { readonly why: Refusal & { readonly id: string } })[];

/** An account or effect is named by an argument that does not do so. */
class Uncountable extends Error {}

/** The open time of a call that is only counted: nobody asks for its outcome. */
const COUNTED_MS = 600_000;

export class LedgerWords {
  readonly #totals: readonly Total[];
  readonly #sequences: readonly Sequence[];
  readonly #once: readonly (readonly [CompiledRule, Once])[];

  /** @throws ObservatoryError `POLICY_INVALID` */
  private constructor({ budgets, sequences = [] }: PolicyDocument, rules: readonly CompiledRule[]) {
    this.#totals = (budgets?.totals ?? []).map((total) => {
      const most = toUnits(total.at_most);
      const per = [total.per].flat().filter((one) => one.startsWith('{'));
      if (most === undefined || per.some((one) => pathsIn(one) === undefined))
        throw invalidPolicy(`Total '${total.id}': 'at_most' or 'per' cannot be read`);
      return { ...total, most, patterns: readTools(total.tools, `Total '${total.id}'`) };
    });
    this.#sequences = sequences.map((sequence) => {
      const where = `Sequence '${sequence.id}'`;
      const { never_after, only_after } = sequence;
      if ((never_after === undefined) === (only_after === undefined))
        throw invalidPolicy(`${where}: has either 'never_after' or 'only_after'`);
      const earlier = readTools(never_after ?? only_after ?? [], where);
      return { ...sequence, later: readTools(sequence.tools, where), earlier };
    });
    const ids = [...this.#totals, ...this.#sequences].map(({ id }) => id);
    const twice = ids.find((id, at) => ids.indexOf(id) !== at);
    if (twice !== undefined) throw invalidPolicy(`Two totals or sequences have the id '${twice}'`);
    this.#once = rules.flatMap((rule) => {
      const { once, id } = rule.document;
      return once === undefined ? [] : [[rule, compileOnce(id, once)] as const];
    });
    for (const [rule, { reconcile }] of this.#once) {
      const { id, server } = rule.document;
      if (reconcile !== undefined && this.#once.some(([other]) => isAbout(other, server, reconcile.tool)))
        throw invalidPolicy(`Rule '${id}': '${reconcile.tool}' is itself done once, so it cannot reconcile`);
    }
  }

  /** The words of a policy; undefined where it has none. @throws ObservatoryError `POLICY_INVALID` */
  static compile(document: PolicyDocument, rules: readonly CompiledRule[]): LedgerWords | undefined {
    const { budgets, sequences } = document;
    const hasNone = budgets?.totals === undefined && sequences === undefined;
    if (hasNone && rules.every((rule) => rule.document.once === undefined)) return undefined;
    return new LedgerWords(document, rules);
  }

  /** The arguments of a call with the key of its effect, for a tool that takes one. */
  complete(server: string, tool: string, args: JsonObject): JsonObject {
    const [once] = this.#onceOf(server, tool, args).filter((one) => one.idempotencyKey !== undefined);
    if (once?.idempotencyKey === undefined) return args;
    const named = toEffectKey(once, args);
    return 'key' in named ? { ...args, [once.idempotencyKey]: toIdempotencyKey(named.key) } : args;
  }

  /** What a call needs; undefined for nothing. A call that cannot be counted is refused. */
  planOf(call: CountedCall): CallPlan | Refusal | undefined {
    const { server, tool, args, caller, digest, allowedBy } = call;
    try {
      const wanted: Wanted = [...this.#totalsOf(call), ...this.#sequencesOf(call)];
      const effects = this.#onceOf(server, tool, args, allowedBy).map((once) => ({
        once,
        key: readKey(once, args),
      }));
      if (wanted.length === 0 && effects.length === 0) return undefined;
      const [first] = effects;
      if (effects.some(({ key }) => key !== first?.key))
        throw new Uncountable('Two rules name it as different effects');
      const takes = wanted.map(({ why: _, ...take }) => take);
      const { once, key } = first ?? {};
      const quiet_ms = once?.quietMs ?? COUNTED_MS;
      const named = { key, effect: once?.effect, digest: digest ?? undefined };
      const request = { caller, server, tool, ...named, quiet_ms, takes };
      return { request, whyNot: wanted.map(({ why }) => why), once };
    } catch (error) {
      if (!(error instanceof Uncountable)) throw error;
      return refusal('args_uncountable', error.message);
    }
  }

  #onceOf(server: string, tool: string, args: JsonObject, ids?: readonly string[]): readonly Once[] {
    return this.#once
      .filter(([rule]) => ids?.includes(rule.document.id) !== false && isAbout(rule, server, tool))
      .filter(([rule]) => applies(rule, args, new StepBudget()))
      .map(([, once]) => once);
  }

  *#totalsOf(call: CountedCall): Generator<Wanted[number]> {
    const { args } = call;
    for (const { id, patterns, sum, per, at_most, most } of this.#totals) {
      if (!names(patterns, call)) continue;
      const kinds = [per].flat();
      const own = kinds.map((one) => nameOfAccount(one, call));
      const kind = kinds.includes('run') ? 'run' : kinds.includes('day') ? 'day' : 'ever';
      const by = kinds.join(' and ');
      const message = `Total '${id}' has no room for it: at most ${at_most} per ${by}`;
      yield {
        account: account(kind, 'total', id, ...own),
        daily: kinds.includes('day'),
        units: String(sum === undefined ? ONE : addUp(args, sum, id)),
        at_most: String(most),
        on: 'reserve',
        // What a server answers with an error did not move the sum. It was a call all the same.
        back: sum === undefined ? 'not_made' : 'failed',
        why: { id, ...refusal('budget_exceeded', message) },
      };
    }
  }

  *#sequencesOf(call: CountedCall): Generator<Wanted[number]> {
    for (const { id, later, earlier, never_after, same = [] } of this.#sequences) {
      const isLater = names(later, call);
      const isEarlier = names(earlier, call);
      if (!isLater && !isEarlier) continue;
      const own = same.map((path) => nameOfAccount(`{${path}}`, call));
      const shared = { account: account('run', 'sequence', id, call.run, ...own), daily: false } as const;
      const code: ReasonCode = 'sequence_refused';
      const message =
        never_after === undefined
          ? `Sequence '${id}' wants another call before it`
          : `Sequence '${id}' rules it out after what was called before`;
      const rest = { ...shared, back: 'not_made', why: { id, ...refusal(code, message) } } as const;
      const limit = never_after === undefined ? { at_least: String(ONE) } : { at_most: '0' };
      if (isLater) yield { ...rest, ...limit, units: '0', on: 'reserve' };
      if (isEarlier)
        yield { ...rest, units: String(ONE), on: never_after === undefined ? 'done' : 'reserve' };
    }
  }
}

const ONE = toUnits(1) ?? 0n;

function readTools(tools: readonly FieldDocument[], where: string): readonly FieldPattern[] {
  return tools.map((given) => {
    const pattern = readField(given, where);
    if (pattern.path.length === 0) return pattern;
    throw invalidPolicy(`${where}: '${JSON.stringify(given)}' names a field; name the tool`);
  });
}

function names(patterns: readonly FieldPattern[], { server, tool }: CountedCall): boolean {
  return patterns.some((one) => one.server === server && (one.tool === '*' || one.tool === tool));
}

function isAbout(rule: CompiledRule, server: string, tool: string): boolean {
  return rule.document.server === server && namesTool(rule, tool);
}

function readKey(once: Once, args: JsonObject): string {
  const named = toEffectKey(once, args);
  if ('key' in named) return named.key;
  throw new Uncountable(
    `Argument '${named.path}', which names the effect, is missing or has no one exact form`,
  );
}

function account(kind: 'run' | 'day' | 'ever', ...parts: readonly unknown[]): string {
  return `${kind === 'ever' ? LASTING : `["${kind}"`},${JSON.stringify(parts).slice(1)}`;
}

function nameOfAccount(kind: string, { run, caller, args }: CountedCall): unknown {
  if (kind === 'run') return run;
  if (kind === 'caller') return caller;
  if (kind === 'day') return kind;
  const path = kind.slice(1, -1);
  const named = nameAt(args, path);
  // Not as it is: an account is kept, and its name holds no content.
  if (named !== undefined) return sha256Hex(JSON.stringify(named));
  throw new Uncountable(`Argument '${path}', which names an account, is missing or has no one exact form`);
}

function addUp(args: JsonObject, path: string, id: string): bigint {
  let sum = 0n;
  for (const value of valuesAt(args, path) ?? [undefined]) {
    const units = toUnits(value);
    if (units === undefined)
      throw new Uncountable(`Total '${id}': '${path}' is no amount that can be counted exactly`);
    sum += units;
  }
  return sum;
}
