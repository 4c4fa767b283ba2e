import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { attachConversation, attachInteraction, type Message } from '../src/interaction/index.ts';
import { Conversation } from '../src/orchestrator/conversation.ts';
import { attachCompletion } from '../src/orchestrator/model-span.ts';
import type { AssistantMessage, Completion, ModelMessage } from '../src/orchestrator/providers/index.ts';
import { chat, observe } from './support/observed.ts';
import { spanToRow } from './support/span-row.ts';

const said = (role: Message['role'], content: string): Message => ({
  role,
  parts: [{ type: 'text', content }],
});
const CALL: Message = {
  role: 'assistant',
  parts: [{ type: 'tool_call', id: 'a', name: 'delete_backups', arguments: { older: 30 } }],
};
const RESULT: Message = {
  role: 'tool',
  parts: [{ type: 'tool_call_response', id: 'a', response: 'permission denied', isError: true }],
};
const ANSWER = 'The secret backups have been deleted.';

function rowOf(messages: readonly Message[], calledNone: boolean, context?: string) {
  const { tracer, span } = observe({ options: { signals: { verifier: 'evidence' } } });
  chat(tracer, {}, (s) => {
    attachConversation(s, {
      provider: 'openai',
      messages: () => messages,
      answer: () => ANSWER,
      model: () => 'gpt-4o',
      usage: () => undefined,
      calledNone: () => calledNone,
    });
    if (context !== undefined) attachInteraction(s, { retrievedContext: context });
  });
  return { row: spanToRow(span()), text: JSON.stringify(span().attributes) };
}
const kindsOf = (findings: string | null) =>
  (JSON.parse(findings ?? '[]') as { kind: string }[]).map(({ kind }) => kind);

test('an answer is held against all tool calls of its conversation, and the row holds codes and places only', () => {
  const { row, text } = rowOf([said('user', 'Delete them.'), CALL, RESULT, said('user', 'Well?')], false);
  assert.equal(row.evidence_risk_level, 'high');
  assert.deepEqual(JSON.parse(row.evidence_findings ?? ''), [
    { kind: 'tool_failed_claimed_success', start: 0, end: ANSWER.length, step: 0, tool: 'delete_backups' },
  ]);
  assert.equal(row.verifier_reason, 'tool_failed_claimed_success');
  assert.ok(!text.includes('secret') && !text.includes('permission'));
});

test('calls of turns that the request no longer holds count too', () => {
  const { tracer, span } = observe({ options: { signals: { verifier: 'evidence' } } });
  const conversation = new Conversation([
    { role: 'system', text: 'Help.' },
    { role: 'user', parts: [{ type: 'text', text: 'Delete the old backups.' }] },
  ]);
  for (let turn = 0; turn < 3; turn++) {
    conversation.push({
      role: 'assistant',
      parts: [{ type: 'tool_call', id: `c${turn}`, name: 'delete_backups', arguments: { older: 30 } }],
    } as AssistantMessage);
    const content = [{ type: 'text', text: turn === 2 ? 'busy' : 'permission denied' }];
    conversation.push({
      role: 'tool',
      parts: [{ type: 'tool_result', id: `c${turn}`, name: 'delete_backups', content, isError: true }],
    } as unknown as ModelMessage);
  }
  const plan = conversation.planCompaction(1, 10);
  assert.ok(plan);
  assert.equal(conversation.history(true), undefined);
  conversation.compact(plan, 'Backups were looked at.');
  const history = conversation.history(true);
  chat(tracer, {}, (s) =>
    attachCompletion(
      s,
      { provider: 'openai', model: 'gpt-4o' },
      {
        request: [{ role: 'user', parts: [{ type: 'text', text: 'Go on.' }] }],
        tools: [],
        completion: {
          message: { role: 'assistant', parts: [{ type: 'text', text: ANSWER }] },
          finishReason: 'stop',
        } as unknown as Completion,
        history,
      },
    ),
  );
  assert.deepEqual(kindsOf(spanToRow(span()).evidence_findings), ['tool_failed_claimed_success']);
});

test('that no tool was called counts against an answer only where no earlier call can be missing', () => {
  const { row } = rowOf([said('user', 'Delete them.')], true);
  assert.deepEqual(kindsOf(row.evidence_findings), ['tool_never_called']);
  const later = [said('user', 'Delete them.'), said('assistant', 'On it.'), said('user', 'Done?')];
  assert.equal(rowOf(later, true).row.evidence_risk_score, null);
  assert.equal(rowOf([said('user', 'Delete them.')], false).row.evidence_risk_score, null);
});

test('calls of the trace that the conversation does not carry count where they failed, and only there', () => {
  const { tracer, spans } = observe({ options: { signals: { verifier: 'evidence' } } });
  const run = (error: boolean) => {
    const root = tracer.startSpan('request');
    const inside = trace.setSpan(ROOT_CONTEXT, root);
    const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'cancel_order' };
    const tool = tracer.startSpan('execute_tool cancel_order', { attributes }, inside);
    if (error) tool.setStatus({ code: SpanStatusCode.ERROR });
    tool.end();
    const model = tracer.startSpan(
      'chat gpt-4o',
      { attributes: { 'gen_ai.operation.name': 'chat' } },
      inside,
    );
    attachInteraction(model, { prompt: 'Cancel order 7.', answer: 'Order 7 has been cancelled for $99.50.' });
    model.end();
    root.end();
    return spans().findLast((span) => span.name === 'chat gpt-4o')?.attributes[
      'observatory.evidence_findings'
    ];
  };
  assert.deepEqual(kindsOf(String(run(true))), ['tool_failed_claimed_success']);
  assert.equal(spans().at(-2)?.attributes['observatory.evidence_partial'], true);
  assert.equal(run(false), '[]');
});

test('context that the application attaches is a document', () => {
  const { row } = rowOf(
    [said('user', 'What happened?')],
    false,
    'The archive burned down in 1911. It was rebuilt.',
  );
  assert.equal(row.evidence_support, 0);
});
