import { runningProvider } from '../../base/index.ts';
import type { GateApprovals } from '../../policy/index.ts';
import { type CommandIo, findRunningStore } from '../command-line/index.ts';

/** How long a call waits for the person at the page. */
const WAIT_MS = 60_000;

/** What a command shares with an `up`, until it is disposed of. */
export interface BesideUp extends AsyncDisposable {
  /** Where a gate asks for approvals, counts calls and keeps effects. */
  readonly approvals: GateApprovals;
}

/**
 * Joins the `up` that runs, for a command that calls tools: spans go there unless something else takes them, and its gate
 * asks there. Undefined without one, or where a database is named.
 */
export async function joinUp(io: CommandIo): Promise<BesideUp | undefined> {
  const store = await findRunningStore(io);
  if (store === undefined) return undefined;
  const { PostgresReviewQueue } = await import('../../approvals/index.ts');
  const { spansUrl } = store;
  const isTaken = spansUrl === undefined || runningProvider() !== undefined;
  const observatory = isTaken
    ? undefined
    : await (await import('../../setup/index.ts')).startObservatory({
        serviceName: io.env.OTEL_SERVICE_NAME || 'mcp-observatory',
        postgres: false,
        otlp: { url: `${spansUrl}/v1/traces` },
      });
  const queue = new PostgresReviewQueue({ connection: store });
  if (io.stderr.isTerminal)
    io.stderr.writeLine("mcp-observatory: calls that need approval wait on the page of 'up'");
  return {
    approvals: { queue, waitMs: WAIT_MS },
    [Symbol.asyncDispose]: async () => {
      await observatory?.shutdown();
      await queue.close();
      await store.close();
    },
  };
}
