import { modelPlanner } from '../../src/orchestrator/index.ts';
import type { Planner } from '../../src/policy/index.ts';
import { GoldenModel } from './golden-model.ts';

export interface GoldenPlanner extends Planner, AsyncDisposable {
  /** What the model was asked, each request as one text. */
  readonly asked: readonly string[];
}

/**
 * A planner on the model of a golden, `test/goldens/<name>.json`, through the provider's own SDK.
 * @param lines what the golden is made of, answer by answer.
 */
export async function goldenPlanner(name: string, ...lines: (string | object)[]): Promise<GoldenPlanner> {
  const turns = lines.map((line) => ({ text: typeof line === 'string' ? line : JSON.stringify(line) }));
  const model = await GoldenModel.open(name, turns);
  const { plan } = await modelPlanner({
    model: 'gpt-5.4-mini',
    apiKey: 'test-key',
    baseUrl: model.baseUrl('openai'),
  });
  return {
    plan,
    get asked() {
      return model.requests.map(({ text }) => text);
    },
    [Symbol.asyncDispose]: () => model.close(),
  };
}
