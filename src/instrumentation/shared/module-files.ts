import { InstrumentationNodeModuleFile } from '@opentelemetry/instrumentation';

type Patch = (exports: unknown, version?: string) => unknown;

/**
 * One file of a package, in both module systems, for those who load it past the main module: the clients of other
 * packages (Bedrock's and Vertex AI's for Anthropic), and subpaths such as `openai/azure`, which load it in turn.
 */
export function moduleFiles(
  path: string,
  versions: readonly string[],
  patch: Patch,
): InstrumentationNodeModuleFile[] {
  return ['js', 'mjs'].map(
    (ending) => new InstrumentationNodeModuleFile(`${path}.${ending}`, [...versions], patch, keep),
  );
}

/** Patches stay where they are: a disabled instrumentation is passed by, and can be enabled again. */
function keep(exports: unknown): unknown {
  return exports;
}
