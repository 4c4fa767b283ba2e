/** Tools that pay and send, with effects that are done once. */
const anything = { type: ['string', 'number', 'array', 'object', 'null'] };
const tool = (name: string, ...names: string[]) => ({
  name,
  inputSchema: { type: 'object', properties: Object.fromEntries(names.map((one) => [one, anything])) },
});

export const LEDGER_TOOLS = {
  pay: {
    tools: [
      tool('refund', 'payment_id', 'amount'),
      tool('charge', 'order', 'key'),
      tool('get_refund', 'payment_id'),
      tool('get_payment', 'payment_id'),
    ],
  },
  mail: { tools: [tool('send', 'to')] },
  web: { tools: [tool('fetch', 'url')] },
};

const status = (...words: string[]) => ({
  type: 'object',
  properties: { status: { enum: words } },
  required: ['status'],
});

export const LEDGER_POLICY = {
  version: 1,
  rules: [
    {
      id: 'refund',
      effect: 'allow',
      server: 'pay',
      tool: 'refund',
      once: {
        key: 'refund:{payment_id}',
        reconcile: {
          tool: 'get_refund',
          args: { payment_id: '{payment_id}' },
          done: status('succeeded'),
          not_done: status('none'),
        },
      },
    },
    {
      id: 'charge',
      effect: 'allow',
      server: 'pay',
      tool: 'charge',
      once: { key: 'charge:{order}', idempotency_key: 'key' },
    },
    { id: 'look', effect: 'allow', server: 'pay', tool: ['get_refund', 'get_payment'] },
    { id: 'mail', effect: 'allow', server: 'mail', tool: 'send' },
    { id: 'web', effect: 'allow', server: 'web', tool: 'fetch' },
  ],
};

export const refundOf = (payment_id: unknown, amount: unknown) => ({ payment_id, amount });
