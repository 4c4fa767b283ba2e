import { context } from '@opentelemetry/api';
import {
  InstrumentationBase,
  type InstrumentationConfig,
  InstrumentationNodeModuleFile,
} from '@opentelemetry/instrumentation';
import { checkKinds, isTracingSuppressed, kinds, oneOf, VERSION } from '../../base/index.ts';
import { createModelMetrics, type ModelMetrics } from '../../interaction/index.ts';
import { isObject } from '../../json/index.ts';
import { resolveCaptureContent } from '../../processor/index.ts';
import { observeApiPromise } from './api-promise.ts';
import { Retrieval } from './background.ts';
import type { CallDescription, CallHost } from './call-description.ts';
import { callContext } from './context-sources.ts';
import { guard } from './guard.ts';
import { type HookedModule, keep, reportHooked } from './hooks.ts';
import { lateTracerProvider } from './late-tracer.ts';
import { ModelCallSpan } from './model-call.ts';

/** Options every model instrumentation has. */
export interface ModelInstrumentationConfig extends InstrumentationConfig {
  /**
   * Whether prompts, answers, tool arguments and error messages may stand on spans, as `gen_ai.input.messages`,
   * `gen_ai.output.messages`, `gen_ai.tool.definitions` and the status description. Hashes and scores do not need it.
   * The variable `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` wins over it.
   * @default false
   */
  captureContent?: boolean | undefined;
  /**
   * How long a stream may go without being read, in milliseconds, before its span ends as `abandoned`. A stream the
   * garbage collector takes ends its span at once; this is the bound for one that is kept and never read.
   * @default 600000
   */
  streamIdleTimeoutMs?: number | undefined;
}

const DEFAULT_IDLE_TIMEOUT_MS = 600_000;
/** Marks a wrapper, so that a method is wrapped once however often a module is hooked; holds who answers for it. */
const OWNER: unique symbol = Symbol('mcp-observatory.owner');

type Method = (...args: unknown[]) => unknown;

/** Says what a call is about to do; nothing when it is none of ours. */
export type Describe = (self: object, args: readonly unknown[]) => CallDescription | undefined;
/** Begins to observe what the method returned. */
export type Observe = (result: unknown, call: ModelCallSpan) => void;

/** One method to observe: where it is from the module's exports, and what it does. */
export interface PatchPoint {
  /** Path from the exports to the class, e.g. `OpenAI.Chat.Completions`. */
  readonly path: readonly string[];
  readonly method: string;
  readonly describe: Describe;
  readonly observe: Observe;
  /** Not every supported version has it. */
  readonly optional?: boolean | undefined;
  /** The class is not exported: it is that of what this getter of the class at `path` gives. */
  readonly getter?: string | undefined;
  /** The method makes no call but retrieves the answer of one that was made in the background: its id. */
  readonly retrieves?: ((args: readonly unknown[]) => unknown) | undefined;
  /** The arguments to call the method with, where it gives its result to a callback. */
  readonly withCallback?: ((args: readonly unknown[], call: ModelCallSpan) => readonly unknown[]) | undefined;
}

interface Owner {
  current: ModelInstrumentation<ModelInstrumentationConfig>;
}

const KINDS = {
  enabled: kinds.boolean,
  captureContent: kinds.boolean,
  streamIdleTimeoutMs: kinds.number,
  native: oneOf('prefer', 'suppress', 'both'),
};

/** What the instrumentations of the model SDKs have in common. */
export abstract class ModelInstrumentation<
  Config extends ModelInstrumentationConfig,
> extends InstrumentationBase<Config> {
  // Set by the base constructor, before field initializers of this class would run.
  declare private metrics: ModelMetrics;
  declare private captureContent: boolean;
  declare private streamIdleTimeoutMs: number;

  constructor(name: string, config: Config) {
    checkKinds(config, KINDS, `the ${name} instrumentation`);
    super(`mcp-observatory/${name}`, VERSION, config);
    const late = lateTracerProvider();
    if (late !== undefined) this.setTracerProvider(late);
  }

  /** Without effect where a bundler has taken the base class for browsers, as for Cloudflare Workers: it has no hooks. */
  override enable(): void {
    super.enable?.();
  }

  override isEnabled(): boolean {
    return super.isEnabled?.() ?? true;
  }

  protected override _updateMetricInstruments(): void {
    this.metrics = createModelMetrics(this.meter);
  }

  /** Reads the environment once for each configuration, not for each call. */
  override setConfig(config: Config): void {
    super.setConfig(config);
    const { captureContent, streamIdleTimeoutMs } = this.getConfig();
    this.captureContent = resolveCaptureContent(captureContent);
    this.streamIdleTimeoutMs = streamIdleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
  }

  /** @internal What a call needs of this instrumentation at the moment it starts. */
  callHost(): CallHost {
    const { tracer, metrics, captureContent, streamIdleTimeoutMs } = this;
    return { tracer, metrics, captureContent, streamIdleTimeoutMs };
  }

  /**
   * Patches the points a module has. One that is missing is noted and skipped, and nothing here throws: an SDK whose
   * shape has changed loads as if it were not instrumented.
   */
  protected patchModule(
    name: string,
    version: string | undefined,
    exports: unknown,
    points: readonly PatchPoint[],
  ): void {
    const patched: string[] = [];
    const missing: string[] = [];
    for (const point of points) {
      const outcome = guard(`patching ${name}`, () => patch(this, exports, point)) ?? 'missing';
      const label = [...point.path, point.method].join('.');
      if (outcome === 'patched') patched.push(label);
      else if (outcome === 'missing' && point.optional !== true) missing.push(label);
    }
    const report: HookedModule = { name, version, patched, missing };
    reportHooked(report);
    this._diag.debug(`hooked ${name}@${version ?? '?'}`, report);
  }
}

type Patch = (exports: unknown, version?: string) => unknown;

/**
 * One file of a package, in both module systems, for code that loads it without the main module: clients of other
 * packages (Bedrock and Vertex AI for Anthropic) and subpaths such as `openai/azure`.
 */
export function moduleFiles(
  path: string,
  versions: readonly string[],
  patch: Patch,
): InstrumentationNodeModuleFile[] {
  return ['js', 'mjs'].map(
    (ending) => new InstrumentationNodeModuleFile(`${path}.${ending}`, [...versions], patch, keep),
  );
}

/** `known` is a class met before, through another module that exports it. */
type Outcome = 'patched' | 'known' | 'missing';

/** Not a method: modules may be patched from within the base constructor, before a private method exists. */
function patch(by: Owner['current'], exports: unknown, point: PatchPoint): Outcome {
  let owner: unknown = exports;
  for (const key of point.path) owner = isClassOrObject(owner) ? Reflect.get(owner, key) : undefined;
  const prototype = isClassOrObject(owner) ? Reflect.get(owner, 'prototype') : undefined;
  if (!isObject(prototype)) return 'missing';
  return point.getter === undefined
    ? patchMethod(by, prototype, point)
    : patchGetter(by, prototype, point, point.getter);
}

/** Patches the class of what a getter gives, when it is first asked. */
function patchGetter(by: Owner['current'], prototype: object, point: PatchPoint, getter: string): Outcome {
  const descriptor = Reflect.getOwnPropertyDescriptor(prototype, getter);
  const get = descriptor?.get;
  if (descriptor === undefined || get === undefined) return 'missing';
  const key = `${getter}.${point.method}`;
  const known = ownersIn(prototype).get(key);
  if (known !== undefined) return take(known, by);
  const made: Owner = { current: by };
  const defined = Reflect.defineProperty(prototype, getter, {
    ...descriptor,
    get(this: unknown): unknown {
      const given: unknown = Reflect.apply(get, this, []);
      const shared: unknown = isObject(given) ? Object.getPrototypeOf(given) : undefined;
      if (isObject(shared)) guard(`patching ${key}`, () => patchMethod(made.current, shared, point));
      return given;
    },
  });
  if (!defined) return 'missing';
  ownersIn(prototype).set(key, made);
  return 'patched';
}

/** Of a method hooked again: the enabled instrumentation handles it. */
function take(known: Owner, by: Owner['current']): Outcome {
  if (known.current === by || known.current.isEnabled()) return 'known';
  known.current = by;
  return 'patched';
}

function patchMethod(by: Owner['current'], prototype: object, point: PatchPoint): Outcome {
  const original: unknown = Reflect.get(prototype, point.method);
  if (typeof original !== 'function') return 'missing';
  const known = (Reflect.get(original, OWNER) as Owner | undefined) ?? ownersIn(prototype).get(point.method);
  if (known !== undefined) return take(known, by);
  const made: Owner = { current: by };
  const wrapped = observed(original as Method, point, made);
  const defined = Reflect.defineProperty(prototype, point.method, {
    value: wrapped,
    configurable: true,
    writable: true,
    enumerable: false,
  });
  if (!defined) return 'missing';
  ownersIn(prototype).set(point.method, made);
  return 'patched';
}

/** Methods patched, by their prototype: another instrumentation may have wrapped ours since. */
const owners = new WeakMap<object, Map<string, Owner>>();

function ownersIn(prototype: object): Map<string, Owner> {
  const known = owners.get(prototype) ?? new Map<string, Owner>();
  owners.set(prototype, known);
  return known;
}

function observed(original: Method, point: PatchPoint, owner: Owner): Method {
  const wrapper = function (this: unknown, ...args: unknown[]): unknown {
    if (point.retrieves !== undefined) {
      const retrieved = guard(`starting ${point.method}`, () => retrieval(owner.current, point, this, args));
      const result = Reflect.apply(original, this, args);
      if (retrieved !== undefined)
        guard(`observing ${point.method}`, () => observeApiPromise(result, retrieved));
      return result;
    }
    const started = guard(`starting ${point.method}`, () => begin(owner.current, point, this, args));
    if (started === undefined) return Reflect.apply(original, this, args);
    const { call, active } = started;
    let result: unknown;
    try {
      const passed = guard(`passing ${point.method} on`, () => point.withCallback?.(args, call)) ?? args;
      result = context.with(active, () => Reflect.apply(original, this, passed));
    } catch (error) {
      guard('reading a thrown error', () => call.fail(error));
      throw error;
    }
    const watched = guard(`observing ${point.method}`, () => {
      point.observe(result, call);
      return true;
    });
    if (watched !== true) call.abandon();
    return result;
  };
  Object.defineProperty(wrapper, 'name', { value: original.name });
  Object.defineProperty(wrapper, 'length', { value: original.length });
  Object.defineProperty(wrapper, OWNER, { value: owner });
  return wrapper;
}

function begin(owner: Owner['current'], point: PatchPoint, self: unknown, args: readonly unknown[]) {
  if (!owner.isEnabled() || !isObject(self)) return undefined;
  const parent = callContext();
  if (isTracingSuppressed(parent)) return undefined;
  const description = point.describe(self, args);
  if (description === undefined) return undefined;
  const call = new ModelCallSpan(owner.callHost(), description);
  return { call, active: call.start(parent) };
}

/** What watches for an answer that was made in the background. */
function retrieval(owner: Owner['current'], point: PatchPoint, self: unknown, args: readonly unknown[]) {
  if (!owner.isEnabled() || !isObject(self)) return undefined;
  const parent = callContext();
  const id = point.retrieves?.(args);
  if (typeof id !== 'string' || isTracingSuppressed(parent)) return undefined;
  const description = point.describe(self, args);
  if (description?.background === undefined) return undefined;
  const startMs = performance.now();
  return new Retrieval(id, description.background, () => {
    const call = new ModelCallSpan(owner.callHost(), { ...description, startMs });
    call.start(parent);
    return call;
  });
}

function isClassOrObject(value: unknown): value is object {
  return isObject(value) || typeof value === 'function';
}
