/** What `mcp-observatory/register` does where it is not disabled; loaded by it. */
import { diag, type MeterProvider, type TracerProvider } from '@opentelemetry/api';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { runningProvider, useStderrDiag } from '../base/index.ts';
import { getObservatoryInstrumentations, openCalls } from '../instrumentation/index.ts';
import type { RunningMetrics } from './meter-provider.ts';
import {
  addSpanProcessor,
  giveWay,
  installModuleHooks,
  isBun,
  onMeterProvider,
  patchInstalled,
  redirectTracers,
  reportHooks,
  wantsOtlp,
  warnOfObstacles,
} from './registration/index.ts';
import type { RunningObservatory } from './start-observatory.ts';

/** Says, where asked for, that nothing is traced. */
export function reportDisabled(): void {
  useStderrDiag(process.env.OTEL_LOG_LEVEL);
  diag.info('mcp-observatory: OTEL_SDK_DISABLED is set; nothing is traced');
}

/** Hooks the SDKs the application will load, and starts an OpenTelemetry SDK where there is none. Never throws. */
export async function registerNow(): Promise<void> {
  useStderrDiag(process.env.OTEL_LOG_LEVEL);
  try {
    warnOfObstacles();
    const running = runningProvider();
    // Before the hooks: loading through them is several times slower.
    const observatory = running === undefined ? await startSdk() : undefined;
    const redirect = observatory && redirectTracers(observatory.tracerProvider);
    const metrics = running === undefined ? undefined : await startMetricsFor(running);
    if (!isBun) await installModuleHooks();
    const instrumentations = getObservatoryInstrumentations();
    if (isBun) await patchInstalled(instrumentations, process.cwd());
    process.once('beforeExit', () => {
      openCalls.abandonAll();
      reportHooks();
    });
    const useMeters = (provider: MeterProvider): void => {
      for (const instrumentation of instrumentations) instrumentation.setMeterProvider(provider);
    };
    const ours = observatory?.meterProvider ?? metrics?.provider;
    if (ours !== undefined) useMeters(ours);
    onMeterProvider(ours, (provider) => {
      useMeters(provider);
      void quietly('stop', observatory?.stopMetrics() ?? metrics?.stop(STOP_MS));
    });
    if (running === undefined) {
      giveWay((provider) => {
        redirect?.(provider);
        giveWayTo(provider, observatory, instrumentations);
      });
    }
  } catch (error) {
    // An application must start even if its telemetry fails.
    diag.error('mcp-observatory: could not start; the application runs without telemetry', error);
  }
}

/** @returns undefined if it cannot be started; the application may still start its own. */
async function startSdk(): Promise<RunningObservatory | undefined> {
  try {
    const { start } = await import('./start-observatory.ts');
    return await start({ otlp: wantsOtlp(process.env) });
  } catch (error) {
    diag.error(
      'mcp-observatory: could not start an OpenTelemetry SDK; nothing is exported without one',
      error,
    );
    return undefined;
  }
}

/** Enriches the spans of the application's SDK, and exports metrics if that does not. */
async function startMetricsFor(running: TracerProvider): Promise<RunningMetrics | undefined> {
  await enrich(running);
  const { startMetricsAlone } = await import('./start-observatory.ts');
  return quietly('export metrics', startMetricsAlone({ otlp: wantsOtlp(process.env) }));
}

const STOP_MS = 10_000;

function giveWayTo(
  provider: TracerProvider,
  observatory: RunningObservatory | undefined,
  instrumentations: readonly Instrumentation[],
): void {
  for (const instrumentation of instrumentations) instrumentation.setTracerProvider(provider);
  void quietly('enrich', enrich(provider));
  // Metrics go on until the application has a meter provider too.
  void quietly('stop', observatory?.stopSpans());
}

async function quietly<T>(what: string, work: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    diag.error(`mcp-observatory: could not ${what}`, error);
    return undefined;
  }
}

/** Enriches the spans of the application's own SDK. */
async function enrich(provider: TracerProvider): Promise<void> {
  const { ObservatorySpanProcessor } = await import('../processor/index.ts');
  if (!addSpanProcessor(provider, new ObservatorySpanProcessor())) {
    diag.warn(
      'mcp-observatory: add ObservatorySpanProcessor to the span processors of your SDK to get the signals',
    );
  }
}
