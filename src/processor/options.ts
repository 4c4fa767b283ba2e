import { diag, type MeterProvider } from '@opentelemetry/api';
import { checkKinds, checkValue, having, invalidOption } from '../base/index.ts';
import {
  type PriceOverride,
  type PriceOverrides,
  resolvePriceOverrides,
  resolveSignalConfig,
  type SignalConfig,
  type SignalOptions,
} from '../signals/index.ts';

export interface ObservatorySpanProcessorOptions {
  /** Which signals are computed, their weights, thresholds and verifier. */
  readonly signals?: SignalOptions | undefined;
  /** Your own prices, which take precedence over the built-in table; the first match wins. */
  readonly prices?: readonly PriceOverride[] | undefined;
  /**
   * Whether texts attached to a span become content attributes. The environment variable
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` takes precedence.
   * @defaultValue false
   */
  readonly captureContent?: boolean | undefined;
  /**
   * Whether prompts, answers, tool arguments, results and error texts written by instrumentations are removed after
   * hashing: of every span, all attributes but those of a list (docs/interaction.md). Takes precedence over
   * `captureContent`.
   * @defaultValue false
   */
  readonly redactContent?: boolean | undefined;
  /** Names of your own attributes that `redactContent` leaves. @defaultValue none */
  readonly keepAttributes?: readonly string[] | undefined;
  /**
   * Whether scores also become span events `gen_ai.evaluation.result`, which other back ends show. `mcp_traces` has
   * them as columns, so Postgres stores no copy.
   * @defaultValue true
   */
  readonly evaluationEvents?: boolean | undefined;
  /**
   * `warn`: model calls without `prompt_template_id` are counted in the processor's `stats`, and the first one is logged.
   * @defaultValue nothing is checked
   */
  readonly requirePromptTemplate?: 'warn' | undefined;
  /**
   * Whether model calls get the fields `offered_tools*`: what the definitions of the tools they offer cost. The first
   * such call reads a vocabulary in the background (30 MB of memory).
   * @defaultValue true
   */
  readonly contextTax?: boolean | undefined;
  /** Destination of the cost and risk metrics; `false` for none. @defaultValue the global provider when a call ends */
  readonly meterProvider?: MeterProvider | false | undefined;
}

/** Names of the options. */
export const PROCESSOR_OPTIONS: readonly string[] = Object.keys({
  signals: true,
  prices: true,
  captureContent: true,
  redactContent: true,
  keepAttributes: true,
  evaluationEvents: true,
  requirePromptTemplate: true,
  contextTax: true,
  meterProvider: true,
} satisfies Record<keyof ObservatorySpanProcessorOptions, true>);

/** Options with every default filled in. */
export interface ResolvedProcessorOptions {
  readonly signals: SignalConfig;
  readonly prices: PriceOverrides | undefined;
  readonly captureContent: boolean;
  readonly redactContent: boolean;
  readonly keepAttributes: ReadonlySet<string>;
  readonly evaluationEvents: boolean;
  readonly countsUntemplated: boolean;
  readonly contextTax: boolean;
  readonly meterProvider: MeterProvider | false | undefined;
}

/**
 * Fills in the defaults and checks every option, once.
 *
 * @param onVerifierError called when the verifier fails, in addition to the option of that name.
 * @throws ObservatoryError `INVALID_OPTION`.
 */
export function resolveProcessorOptions(
  options: ObservatorySpanProcessorOptions,
  onVerifierError: (error: unknown) => void,
): ResolvedProcessorOptions {
  checkKinds(options, {}, 'ObservatorySpanProcessor');
  const { signals = {}, prices, captureContent, redactContent, evaluationEvents, meterProvider } = options;
  const { keepAttributes = [], requirePromptTemplate, contextTax } = options;
  checkType('captureContent', captureContent, 'boolean');
  checkType('redactContent', redactContent, 'boolean');
  checkNames('keepAttributes', keepAttributes);
  checkType('signals', signals, 'object');
  checkType('evaluationEvents', evaluationEvents, 'boolean');
  checkType('contextTax', contextTax, 'boolean');
  if (requirePromptTemplate !== undefined && requirePromptTemplate !== 'warn')
    throw invalidOption('`requirePromptTemplate`', "'warn'", requirePromptTemplate);
  if (meterProvider !== false && meterProvider !== undefined)
    checkValue('`meterProvider`', meterProvider, having('a MeterProvider or false', 'getMeter'));
  const config = resolveSignalConfig(signals);
  const redact = redactContent ?? false;
  const capture = resolveCaptureContent(captureContent);
  if (redact && capture) {
    diag.warn('mcp-observatory: content capture is on, but redactContent removes it; set only one of them');
  }
  return {
    signals: { ...config, onVerifierError: callBoth(onVerifierError, config.onVerifierError) },
    prices: prices === undefined ? undefined : resolvePriceOverrides(prices),
    captureContent: capture && !redact,
    redactContent: redact,
    keepAttributes: new Set(keepAttributes),
    evaluationEvents: evaluationEvents ?? true,
    countsUntemplated: requirePromptTemplate === 'warn',
    contextTax: contextTax ?? true,
    meterProvider,
  };
}

function checkType(name: string, value: unknown, type: 'boolean' | 'object'): void {
  if (value === undefined || (typeof value === type && value !== null)) return;
  throw invalidOption(`\`${name}\``, `a ${type}`, value);
}

function checkNames(name: string, value: unknown): void {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return;
  throw invalidOption(`\`${name}\``, 'a list of names', value);
}

function callBoth(
  first: (error: unknown) => void,
  second: SignalConfig['onVerifierError'],
): (error: unknown) => void {
  return (error) => {
    first(error);
    second?.(error);
  };
}

/** The environment variable for content capture, common to all OpenTelemetry instrumentations. */
export const CAPTURE_CONTENT_VARIABLE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';

/**
 * Its two vocabularies: JavaScript's `true | false` and Python's four words. `EVENT_ONLY` keeps content off spans.
 */
const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['span_only', true],
  ['span_and_event', true],
  ['event_only', false],
  ['no_content', false],
]);

/**
 * Whether prompt and answer text may become attributes of spans: the environment variable
 * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`, else the option, else no. The variable takes precedence, as in
 * OpenTelemetry's instrumentations, so that an operator can switch capture off. Unknown values are ignored with a
 * warning.
 */
export function resolveCaptureContent(
  option?: boolean,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const value = env[CAPTURE_CONTENT_VARIABLE];
  if (value === undefined || value.trim() === '') return option ?? false;
  const word = WORDS.get(value.trim().toLowerCase());
  if (word !== undefined) return word;
  diag.warn(
    `mcp-observatory: ignoring ${CAPTURE_CONTENT_VARIABLE}='${value}'; expected true, false, SPAN_ONLY, EVENT_ONLY, ` +
      'SPAN_AND_EVENT or NO_CONTENT',
  );
  return option ?? false;
}
