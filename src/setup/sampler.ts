import { diag } from '@opentelemetry/api';
import type { Constructor, Loaded } from '../base/index.ts';

const PARENT_BASED = 'parentbased_';
const RATIO = 'traceidratio';
const CLASSES: ReadonlyMap<string, string> = new Map([
  ['always_on', 'AlwaysOnSampler'],
  ['always_off', 'AlwaysOffSampler'],
  [RATIO, 'TraceIdRatioBasedSampler'],
]);

/**
 * The sampler `OTEL_TRACES_SAMPLER` asks for, for SDK 3, whose provider reads no variables; SDK 2 does so by itself.
 * @returns undefined where the SDK's default will do.
 */
export function samplerIn(sdk: Loaded, env: Readonly<Record<string, string | undefined>>): unknown {
  const asked = env.OTEL_TRACES_SAMPLER?.trim().toLowerCase() ?? '';
  if (asked === '') return undefined;
  const isParentBased = asked.startsWith(PARENT_BASED);
  const name = isParentBased ? asked.slice(PARENT_BASED.length) : asked;
  const className = CLASSES.get(name);
  if (className === undefined) {
    diag.warn(`mcp-observatory: OTEL_TRACES_SAMPLER=${asked} is not known; every trace is recorded`);
    return undefined;
  }
  const make = (which: string, ...args: unknown[]): unknown =>
    new (sdk[which] as unknown as Constructor<unknown[], unknown>)(...args);
  const root = make(className, ...(name === RATIO ? [ratioIn(env.OTEL_TRACES_SAMPLER_ARG)] : []));
  return isParentBased ? make('ParentBasedSampler', { root }) : root;
}

function ratioIn(text: string | undefined): number {
  const ratio = Number(text?.trim() || '1');
  if (ratio >= 0 && ratio <= 1) return ratio;
  diag.warn(`mcp-observatory: OTEL_TRACES_SAMPLER_ARG=${text} is no ratio from 0 to 1; using 1`);
  return 1;
}
