import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProvider } from '../src/orchestrator/providers/index.ts';
import { canonical, type NeutralRequest, NotPlain, toNeutral } from './support/recorded-request.ts';
import { hasCassettes, type Json, type Recording, recordings } from './support/recordings.ts';

const skip = hasCassettes ? false : 'no recordings beside the repository';

/** The body of the request that the adapter makes of a conversation. */
async function requestFor(
  { api, model, response: { body, sse } }: Recording,
  { messages, tools, options }: NeutralRequest,
): Promise<Json> {
  let sent: Json;
  const provider = await createProvider(api, {
    apiKey: 'test-key',
    retry: { maxAttempts: 1 },
    fetch: async (_input, init) => {
      sent = JSON.parse(String(init?.body));
      const type = sse === undefined ? 'application/json' : 'text/event-stream';
      return new Response(sse ?? JSON.stringify(body), { headers: { 'content-type': type } });
    },
  });
  await provider.createCompletion(messages, tools, { ...options, model, stream: sse !== undefined });
  return sent;
}

test('requests built from the recorded conversations equal the recorded ones in canonical form', {
  skip,
}, async (t) => {
  const left: string[] = [];
  let matched = 0;
  // What the API refused is no model to follow.
  const rows = recordings(['openai', 'anthropic', 'gemini']).filter(
    ({ response }) => response.status === 200,
  );
  for (const recording of rows) {
    let neutral: NeutralRequest;
    try {
      neutral = toNeutral(recording.api, recording.request.body);
    } catch (error) {
      if (!(error instanceof NotPlain)) throw error;
      left.push(`${recording.id}: ${error.message}`);
      continue;
    }
    assert.deepEqual(
      canonical(recording.api, await requestFor(recording, neutral)),
      canonical(recording.api, recording.request.body),
      recording.id,
    );
    matched += 1;
  }
  assert.equal(matched + left.length, rows.length);
  assert.equal(matched, 72);
  t.diagnostic(`${matched} equal, ${left.length} are not plain tool calling: ${left.join('; ')}`);
});
