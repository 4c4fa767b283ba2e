import { diag, type MeterProvider } from '@opentelemetry/api';
import { ObservatoryError } from '../base/index.ts';
import {
  type PriceOverride,
  type PriceOverrides,
  resolvePriceOverrides,
  resolveSignalConfig,
  type SignalConfig,
  type SignalOptions,
} from '../signals/index.ts';
import { resolveCaptureContent } from './capture-content.ts';

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
   * Whether prompts, answers, tool arguments, results and error texts written by instrumentations on GenAI and MCP
   * spans are removed after hashing. Takes precedence over `captureContent`.
   * @defaultValue false
   */
  readonly redactContent?: boolean | undefined;
  /**
   * Whether scores also become span events `gen_ai.evaluation.result`, which other back ends show. `mcp_traces` has
   * them as columns, so Postgres stores no copy.
   * @defaultValue true
   */
  readonly evaluationEvents?: boolean | undefined;
  /** Destination of the cost and risk metrics; `false` for none. @defaultValue the global provider when a call ends */
  readonly meterProvider?: MeterProvider | false | undefined;
}

/** Options with every default filled in. */
export interface ResolvedProcessorOptions {
  readonly signals: SignalConfig;
  readonly prices: PriceOverrides | undefined;
  readonly captureContent: boolean;
  readonly redactContent: boolean;
  readonly evaluationEvents: boolean;
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
  const { signals = {}, prices, captureContent, redactContent, evaluationEvents, meterProvider } = options;
  checkType('captureContent', captureContent, 'boolean');
  checkType('redactContent', redactContent, 'boolean');
  checkType('signals', signals, 'object');
  checkType('evaluationEvents', evaluationEvents, 'boolean');
  if (meterProvider !== false) checkType('meterProvider', meterProvider, 'object');
  const config = resolveSignalConfig(signals);
  const redact = redactContent ?? false;
  const capture = resolveCaptureContent(captureContent);
  if (redact && capture) {
    diag.warn('mcp-observatory: content capture is on, but redactContent removes it; set only one of them');
  }
  return {
    signals: { ...config, onVerifierError: bothOf(onVerifierError, config.onVerifierError) },
    prices: prices === undefined ? undefined : resolvePriceOverrides(prices),
    captureContent: capture && !redact,
    redactContent: redact,
    evaluationEvents: evaluationEvents ?? true,
    meterProvider,
  };
}

function checkType(name: string, value: unknown, type: 'boolean' | 'object'): void {
  if (value === undefined || (typeof value === type && value !== null)) return;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected \`${name}\` to be a ${type}, got ${String(value)} (${typeof value})`,
  );
}

function bothOf(
  first: (error: unknown) => void,
  second: SignalConfig['onVerifierError'],
): (error: unknown) => void {
  return (error) => {
    first(error);
    second?.(error);
  };
}
