/**
 * An MCP server over stdio with three tools for invoices, on the official SDK. The data is made up, the checks are
 * real: amounts are compared with limits, and payments that were not approved are refused.
 *
 * Run it on its own: `node dist/examples/servers/payments.js`
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

interface Invoice {
  readonly supplier: string;
  readonly amountEur: number;
  readonly approved: boolean;
}

const INVOICES: ReadonlyMap<string, Invoice> = new Map([
  ['INV-92311', { supplier: 'Northwind Traders', amountEur: 4200, approved: false }],
  ['INV-92312', { supplier: 'Contoso Office Supplies', amountEur: 310, approved: true }],
]);

/** Payments above this amount (in euros) need approval. */
const REVIEW_LIMIT_EUR = 1000;

const invoiceId = z.string().regex(/^INV-\d{5}$/);
const server = new McpServer({ name: 'payments', version: '1.0.0' });

server.registerTool(
  'lookup_invoice',
  {
    description: 'Supplier, amount and approval state of an invoice',
    inputSchema: { invoice_id: invoiceId },
    annotations: { readOnlyHint: true },
  },
  ({ invoice_id }) => withInvoice(invoice_id, (invoice) => text(describe(invoice_id, invoice))),
);

server.registerTool(
  'payment_risk_check',
  {
    description: 'Risk of paying an invoice, and whether a person must review it first',
    inputSchema: { invoice_id: invoiceId },
    outputSchema: { invoice_id: z.string(), risk: z.enum(['low', 'high']), needs_review: z.boolean() },
    annotations: { readOnlyHint: true },
  },
  ({ invoice_id }) =>
    withInvoice(invoice_id, (invoice) => {
      const needsReview = invoice.amountEur > REVIEW_LIMIT_EUR && !invoice.approved;
      const risk = needsReview ? 'high' : 'low';
      const advice = needsReview ? 'Needs human review before approval.' : 'May be paid.';
      return {
        ...text(`${describe(invoice_id, invoice)} Risk: ${risk}. ${advice}`),
        structuredContent: { invoice_id, risk, needs_review: needsReview },
      };
    }),
);

server.registerTool(
  'send_payment',
  {
    description: 'Pays an approved invoice',
    inputSchema: { invoice_id: invoiceId },
    annotations: { readOnlyHint: false, destructiveHint: true },
  },
  ({ invoice_id }) =>
    withInvoice(invoice_id, (invoice) =>
      invoice.approved
        ? text(`Paid ${invoice.amountEur} EUR to ${invoice.supplier}.`)
        : failure(`Payment declined: ${invoice_id} is not approved.`),
    ),
);

function withInvoice(id: string, use: (invoice: Invoice) => CallToolResult): CallToolResult {
  const invoice = INVOICES.get(id);
  return invoice === undefined ? failure(`There is no invoice ${id}.`) : use(invoice);
}

function describe(id: string, invoice: Invoice): string {
  const state = invoice.approved ? 'approved' : 'not approved';
  return `Invoice ${id} from ${invoice.supplier} over ${invoice.amountEur} EUR is ${state}.`;
}

function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] };
}

function failure(value: string): CallToolResult {
  return { ...text(value), isError: true };
}

server.connect(new StdioServerTransport()).catch((error: unknown) => {
  process.stderr.write(`payments: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
