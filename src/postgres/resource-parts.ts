import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { ByteWriter } from './byte-writer.ts';
import type { Scalar } from './coerce.ts';
import { AttributeDivider, columnsReadFrom } from './columns.ts';
import { JsonWriter } from './json-writer.ts';
import { Marks } from './marks.ts';
import type { ResolvedRowLimits } from './row-limits.ts';

type Resource = ReadableSpan['resource'];

const RESOURCE_COLUMNS = columnsReadFrom('resource');

/** OpenTelemetry's name for the schema of a resource in formats other than OTLP. */
const SCHEMA_URL = 'otel.resource.schema_url';

/** The parts of a row that come from its resource. */
export interface ResourceParts {
  readonly columns: readonly { readonly position: number; readonly value: Scalar; readonly name: string }[];
  /** Attributes without a column, as JSON. */
  readonly json: Buffer;
  readonly marks: Marks;
}

/** Caches the parts of resources, as all spans of a process share one. */
export class ResourceCache {
  readonly #limits: ResolvedRowLimits;
  readonly #known = new WeakMap<Resource, ResourceParts>();

  constructor(limits: ResolvedRowLimits) {
    this.#limits = limits;
  }

  partsOf(resource: Resource): ResourceParts {
    const known = this.#known.get(resource);
    if (known !== undefined) return known;
    const parts = readResource(resource, this.#limits);
    if (!resource.asyncAttributesPending) this.#known.set(resource, parts);
    return parts;
  }
}

function readResource({ attributes, schemaUrl }: Resource, limits: ResolvedRowLimits): ResourceParts {
  const keys = Object.keys(attributes);
  const divider = new AttributeDivider(RESOURCE_COLUMNS, limits.maxColumnChars);
  divider.divide(attributes, keys);
  const own = new Marks();
  const out = new ByteWriter();
  const json = new JsonWriter(out, own, limits);
  out.begin();
  json.begin();
  json.open();
  const hasEntries = json.entries(attributes, keys, undefined, 0, divider.isHeld);
  if (schemaUrl && !Object.hasOwn(attributes, SCHEMA_URL)) {
    json.entry(SCHEMA_URL, !hasEntries);
    json.value(schemaUrl, SCHEMA_URL);
  }
  json.close();
  const marks = new Marks();
  marks.addAll([...own.sanitized].map(ofResource), [...own.truncated].map(ofResource));
  return {
    columns: divider.filled.map((position) => ({
      position,
      value: divider.values[position] as Scalar,
      name: ofResource(divider.names[position] ?? ''),
    })),
    // Copied, so as not to retain the writer's large buffer.
    json: Buffer.from(out.record),
    marks,
  };
}

function ofResource(name: string): string {
  return `resource ${name}`;
}
