/**
 * `node --import mcp-observatory/register app.js`: hooks every MCP and model SDK the application loads, ES module or
 * CommonJS, and starts an OpenTelemetry SDK where the application has none. It is configured by the standard
 * `OTEL_*` variables and by `MCP_OBSERVATORY_DATABASE_URL`, and never writes to stdout.
 *
 * The only module of the package with a top-level await: it is for `--import`, not for `require()`.
 */
import { diag, type MeterProvider, type TracerProvider } from '@opentelemetry/api';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { useStderrDiag } from '../base/index.ts';
import { getObservatoryInstrumentations, openCalls } from '../instrumentation/index.ts';
import type { Observatory } from './index.ts';
import {
  addSpanProcessor,
  giveWay,
  installModuleHooks,
  isDisabled,
  onMeterProvider,
  reportHooks,
  runningProvider,
  wantsOtlp,
  warnOfObstacles,
} from './registration/index.ts';

useStderrDiag(process.env.OTEL_LOG_LEVEL);
if (isDisabled(process.env)) diag.info('mcp-observatory: OTEL_SDK_DISABLED is set; nothing is traced');
else await register();

async function register(): Promise<void> {
  try {
    warnOfObstacles(process.cwd());
    const running = runningProvider();
    // Before the hooks: loading through them is several times slower.
    const observatory = running === undefined ? await startSdk() : undefined;
    if (running !== undefined) await enrich(running);
    const kind = await installModuleHooks();
    const instrumentations = getObservatoryInstrumentations();
    diag.debug(`mcp-observatory: modules are hooked by ${kind}`);
    process.once('beforeExit', () => {
      openCalls.abandonAll();
      reportHooks();
    });
    const useMeters = (provider: MeterProvider): void => {
      for (const instrumentation of instrumentations) instrumentation.setMeterProvider(provider);
    };
    if (observatory?.meterProvider !== undefined) useMeters(observatory.meterProvider);
    onMeterProvider(observatory?.meterProvider, useMeters);
    if (running === undefined) giveWay((provider) => giveWayTo(provider, observatory, instrumentations));
  } catch (error) {
    // An application must start even if its telemetry fails.
    diag.error('mcp-observatory: could not start; the application runs without telemetry', error);
  }
}

/** @returns undefined if it cannot be started; the application may still start its own. */
async function startSdk(): Promise<Observatory | undefined> {
  try {
    const { startObservatory } = await import('./index.ts');
    return await startObservatory({ otlp: wantsOtlp(process.env) });
  } catch (error) {
    diag.error(
      'mcp-observatory: could not start an OpenTelemetry SDK; nothing is exported without one',
      error,
    );
    return undefined;
  }
}

function giveWayTo(
  provider: TracerProvider,
  observatory: Observatory | undefined,
  instrumentations: readonly Instrumentation[],
): void {
  for (const instrumentation of instrumentations) instrumentation.setTracerProvider(provider);
  void enrich(provider).catch((error: unknown) => diag.error('mcp-observatory: could not enrich', error));
  observatory?.shutdown().catch((error: unknown) => diag.error('mcp-observatory: could not stop', error));
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
