import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { Scalar } from './coerce.ts';
import { AttributeDivider } from './columns.ts';
import { JsonWriter } from './json-writer.ts';
import { Marks } from './marks.ts';
import type { ResolvedRowLimits } from './row-limits.ts';

type Resource = ReadableSpan['resource'];

/** OpenTelemetry's name for the schema of a resource in formats other than OTLP. */
const SCHEMA_URL = 'otel.resource.schema_url';

/** The parts of a row that come from its resource. */
export interface ResourceParts {
  readonly columns: readonly { readonly position: number; readonly value: Scalar; readonly name: string }[];
  /** Attributes without a column, as JSON. */
  readonly json: string;
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
  const divider = new AttributeDivider('resource', limits.maxColumnChars);
  const values: Scalar[] = [];
  divider.divide(attributes, values);
  const own = new Marks();
  const json = new JsonWriter(own, limits);
  json.begin();
  json.open();
  const hasEntries = json.entries(attributes, undefined, 0, divider);
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
      value: values[position] as Scalar,
      name: ofResource(divider.nameBehind(position) ?? ''),
    })),
    json: json.take(),
    marks,
  };
}

function ofResource(name: string): string {
  return `resource ${name}`;
}
