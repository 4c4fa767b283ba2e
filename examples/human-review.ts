import { instrument, migrate, openDatabase } from 'mcp-observatory';
import { callWithFallback, FallbackRouter, PostgresReviewQueue } from 'mcp-observatory/execution';

// A Postgres server, or an embedded database where there is none. A worker elsewhere would run
// `mcp-observatory reviews claim` and `approve`, or the same methods.
await using db = await openDatabase({ url: process.env.DATABASE_URL, dataDir: process.argv[2] });
await migrate(db);
const queue = new PostgresReviewQueue({ connection: db });

const router = new FallbackRouter({
  interceptor: instrument({ serviceName: 'payments-mcp' }),
  routes: {
    send_payment: { type: 'human_review', queue },
    summarize: { type: 'draft_only' },
  },
  otherwise: { type: 'template', respond: 'This is not possible at the moment.' },
});

const { response, fallback } = await callWithFallback(router, {
  toolName: 'send_payment',
  arguments: { invoice: 92311, amount: 120 },
  confidence: 0.42,
  confidenceGateThreshold: 0.55,
  call: () => 'paid', // not called: the confidence is too low
});
console.log(response); // { status: 'pending_review', reviewId: '...' }

const claim = await queue.claim({ worker: 'ada' });
if (claim === undefined) throw new Error('The review should wait');
console.log(claim.content); // { arguments: { invoice: 92311, amount: 120 } }
await queue.approve(claim, { note: 'customer is known', response: 'pay' });
console.log(await queue.outcome(fallback?.reviewId ?? ''));
