import { FIELDS, type FieldDefinition } from '../src/base/fields.ts';

type Schema = Readonly<Record<string, unknown>>;

const ISO_TIME = {
  type: 'string',
  format: 'date-time',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z$',
} as const;

const ATTRIBUTES = { type: 'object', description: 'Attribute values by name' } as const;
const DROPPED = {
  type: 'integer',
  minimum: 1,
  description: 'Attributes lost to a limit of the SDK',
} as const;

/** Items of the columns that are JSON arrays. */
const ITEMS: Readonly<Record<string, Schema>> = {
  events: {
    type: 'object',
    required: ['time', 'name', 'attributes'],
    additionalProperties: false,
    properties: {
      time: ISO_TIME,
      name: { type: 'string' },
      attributes: ATTRIBUTES,
      dropped_attributes_count: DROPPED,
    },
  },
  links: {
    type: 'object',
    required: ['trace_id', 'span_id', 'attributes'],
    additionalProperties: false,
    properties: {
      trace_id: { type: 'string', description: 'Trace id of the linked span, 32 hex digits' },
      span_id: { type: 'string', description: 'Span id of the linked span, 16 hex digits' },
      attributes: ATTRIBUTES,
      tracestate: { type: 'string', description: 'W3C tracestate of the linked span' },
      dropped_attributes_count: DROPPED,
    },
  },
};

/** JSON Schema (2020-12) of one row of `mcp_traces` in its wire form. */
export function rowJsonSchema(): Schema {
  const fields: readonly FieldDefinition[] = FIELDS;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:mcp-observatory:schema:mcp_traces_row',
    title: 'Row of mcp_traces',
    description:
      'One OpenTelemetry span. Generated from src/base/fields.ts by `npm run generate`; do not edit.',
    type: 'object',
    required: fields.map((field) => field.column),
    additionalProperties: false,
    properties: Object.fromEntries(fields.map((field) => [field.column, columnSchema(field)])),
  };
}

function columnSchema(field: FieldDefinition): Schema {
  const schema = valueSchema(field);
  const type = field.notNull ? schema.type : [schema.type, 'null'];
  return { description: field.description, ...schema, type };
}

function valueSchema(field: FieldDefinition): Schema {
  switch (field.sqlType) {
    case 'uuid':
      return { type: 'string', format: 'uuid' };
    case 'timestamptz':
      return ISO_TIME;
    case 'integer':
      return { type: 'integer', minimum: -2_147_483_648, maximum: 2_147_483_647 };
    case 'jsonb':
      return field.wireType === 'array'
        ? { type: 'array', items: ITEMS[field.column] ?? {} }
        : { type: 'object' };
    default:
      return { type: field.wireType };
  }
}
