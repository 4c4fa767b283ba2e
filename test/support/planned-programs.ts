import type { Plan, Turn } from './planned-provider.ts';

type Below = (limit: number) => number;

/** Programs of `fixtures/tape/agent.mjs`: what it does, and how it reaches its server. */
export interface PlannedProgram {
  readonly plans: readonly Plan[];
  readonly env: {
    /** The line of the MCP SDK. */
    readonly MCP_SDK: '1' | '2';
    /** Whether its server is one over Streamable HTTP. */
    readonly MCP_HTTP?: '1';
  };
}

/** A program of one to three runs, over one connection to its server. */
export function programOf(below: Below): PlannedProgram {
  const http = below(2) === 0 ? { MCP_HTTP: '1' as const } : {};
  return {
    env: { MCP_SDK: below(2) === 0 ? '1' : '2', ...http },
    plans: Array.from({ length: 1 + below(3) }, () => planOf(below)),
  };
}

/** One to three conversations of up to four turns, with parallel calls, waits, images, streams, retries and failures. */
export function planOf(below: Below): Plan {
  const call = () => {
    const tool = ['add', 'add', 'slow', 'fail', 'missing', 'picture'][below(6)] as string;
    return { tool, args: { a: below(12), ...(below(2) === 0 ? { b: below(9) } : {}) } };
  };
  const turn = (): Turn => ({
    ms: below(8),
    ...(below(5) === 0 ? { retries: 1 + below(2), retryStatus: [429, 500, 503][below(3)] as number } : {}),
    ...(below(9) === 0 ? { status: 400 } : {}),
    calls: Array.from({ length: 1 + below(4) }, call),
  });
  const agents = Array.from({ length: 1 + below(3) }, (): Turn[] => [
    ...Array.from({ length: below(4) }, turn),
    { ms: below(8), text: `the end of ${below(1_000)}` },
  ]);
  return {
    agents,
    stream: below(2) === 0,
    ...(below(3) === 0 ? { image: Buffer.from(`image ${below(9)}`).toString('base64') } : {}),
    ...(below(3) === 0 ? { oneByOne: true } : {}),
    ...(below(3) === 0 ? { resource: 'note://one' } : {}),
  };
}
