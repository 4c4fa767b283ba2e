import { after, afterEach, before } from 'node:test';
import { ProviderServer } from './provider-server.ts';
import type { Telemetry } from './telemetry.ts';

/** Gives the tests of a file a provider; what they recorded is forgotten after each, and all ends after the last. */
export function duringTests(telemetry: Telemetry, use: (provider: ProviderServer) => void): void {
  let provider: ProviderServer;
  before(async () => {
    provider = await ProviderServer.start();
    use(provider);
  });
  afterEach(() => telemetry.reset());
  after(async () => {
    await provider[Symbol.asyncDispose]();
    await telemetry.shutdown();
  });
}
