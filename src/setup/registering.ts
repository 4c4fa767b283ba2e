/** The work of `mcp-observatory/register`, loaded by it unless it is disabled. */
import { diag, type MeterProvider, type TracerProvider } from '@opentelemetry/api';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { ObservatoryError, runningProvider, useStderrDiag } from '../base/index.ts';
import { getObservatoryInstrumentations, McpInstrumentation, openCalls } from '../instrumentation/index.ts';
import { flushAfterHandler } from './after-handler.ts';
import {
  giveWay,
  hasNoHooks,
  installModuleHooks,
  keepRequireHook,
  onMeterProvider,
  patchInstalled,
  reportHooks,
  StandbyProvider,
  wantsOtlp,
  warnOfObstacles,
} from './registration/index.ts';
import type { Beside, RunningObservatory } from './start-observatory.ts';

/** Logs at level `info` that nothing is traced. */
export function reportDisabled(): void {
  useStderrDiag(process.env.OTEL_LOG_LEVEL);
  diag.info('mcp-observatory: OTEL_SDK_DISABLED is set; nothing is traced');
}

let registered: Promise<void> | undefined;

/**
 * Hooks the SDKs the application will load, and starts an OpenTelemetry SDK where there is none; once, however often it is
 * called. Never throws.
 *
 * @param isFirst whether the host calls us before it loads the application.
 */
export function registerNow(isFirst = false): Promise<void> {
  registered ??= hookAndStart(isFirst);
  return registered;
}

async function hookAndStart(isFirst: boolean): Promise<void> {
  useStderrDiag(process.env.OTEL_LOG_LEVEL);
  try {
    warnOfObstacles(isFirst);
    const running = runningProvider();
    // Before the hooks: loading through them is several times slower.
    const sdks = running === undefined ? await startAndGiveWay() : await joinRunning(running);
    if (!hasNoHooks) await installModuleHooks();
    if (!hasNoHooks) flushAfterHandler(process.env);
    const instrumentations = getObservatoryInstrumentations();
    keepRequireHook(instrumentations);
    if (hasNoHooks) await patchInstalled(instrumentations, process.cwd());
    sdks.use(instrumentations);
    if (!hasNoHooks)
      for (const one of instrumentations) if (one instanceof McpInstrumentation) one.watchWire();
    process.once('beforeExit', () => {
      openCalls.abandonAll();
      reportHooks();
    });
  } catch (error) {
    // An application must start even if its telemetry fails.
    tellFailure('start; the application runs without telemetry', error);
  }
}

interface Sdks {
  /** Has instrumentations use them, now and when they change. */
  use(instrumentations: readonly Instrumentation[]): void;
}

/** Starts our SDK, and leaves everything to the application's when that is set globally. */
async function startAndGiveWay(): Promise<Sdks> {
  const ours = await startSdk();
  let used: readonly Instrumentation[] = [];
  // At once: until then the API would refuse the application's SDK.
  giveWay((provider) => {
    const start = (from: TracerProvider) => {
      ours?.standby.giveWayTo(from);
      for (const instrumentation of used) instrumentation.setTracerProvider(from);
    };
    start(provider);
    // Metrics of ours go on until the application has a meter provider too.
    const given = ours?.observatory.giveWayTo(provider);
    if (given === undefined)
      void joinTo(provider).then((beside) => start(beside?.tracerProvider ?? provider));
    else start(given.tracerProvider);
    void quietly('give way', given?.done);
  });
  const useMeters = meterUse(ours?.observatory.meterProvider, () => ours?.observatory.stopMetrics());
  return {
    use: (instrumentations) => {
      used = instrumentations;
      useMeters(instrumentations);
    },
  };
}

async function joinRunning(provider: TracerProvider): Promise<Sdks> {
  const beside = await joinTo(provider);
  const useMeters = meterUse(beside?.meterProvider, () => beside?.stopMetrics());
  return {
    use: (instrumentations) => {
      const own = beside?.tracerProvider ?? provider;
      if (own !== provider) for (const one of instrumentations) one.setTracerProvider(own);
      useMeters(instrumentations);
    },
  };
}

/** @returns a function that gives instrumentations our meter provider, if any, until the application sets its own. */
function meterUse(ours: MeterProvider | undefined, stop: () => Promise<void> | undefined): Sdks['use'] {
  let used: readonly Instrumentation[] = [];
  let current = ours;
  const useCurrent = () => {
    if (current === undefined) return;
    for (const instrumentation of used) instrumentation.setMeterProvider(current);
  };
  onMeterProvider(ours, (provider) => {
    current = provider;
    useCurrent();
    void quietly('stop', stop());
  });
  return (instrumentations) => {
    used = instrumentations;
    useCurrent();
  };
}

interface Ours {
  readonly observatory: RunningObservatory;
  readonly standby: StandbyProvider;
}

/** @returns undefined if it cannot be started; the application may still start its own. */
async function startSdk(): Promise<Ours | undefined> {
  try {
    const { start } = await import('./start-observatory.ts');
    const { registerGlobally } = await import('./register-globally.ts');
    let standby: StandbyProvider | undefined;
    const observatory = await start({ otlp: wantsOtlp(process.env) }, (provider) => {
      standby = new StandbyProvider(provider);
      return registerGlobally(standby);
    });
    return standby && { observatory, standby };
  } catch (error) {
    tellFailure('start an OpenTelemetry SDK; nothing is exported without one', error);
    return undefined;
  }
}

/** Adds what there is to add to the application's SDK. */
async function joinTo(running: TracerProvider): Promise<Beside | undefined> {
  const { startBeside } = await import('./start-observatory.ts');
  const otlp = wantsOtlp(process.env, true);
  return quietly('join the SDK of the application', startBeside({ otlp }, running));
}

async function quietly<T>(what: string, work: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    tellFailure(what, error);
    return undefined;
  }
}

/** An error of this package says what to do in its message; any other is shown with its stack. */
function tellFailure(what: string, error: unknown): void {
  if (error instanceof ObservatoryError) diag.error(`mcp-observatory: could not ${what}: ${error.message}`);
  else diag.error(`mcp-observatory: could not ${what}`, error);
}
