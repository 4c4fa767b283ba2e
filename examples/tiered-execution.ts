import { instrument } from 'mcp-observatory';
import { TieredExecutionConfig, TieredExecutionEngine } from 'mcp-observatory/execution';

const interceptor = instrument({ serviceName: 'payments-mcp' });
const config = TieredExecutionConfig.fromBaseCost(0.01, {
  tier1Confidence: 0.55,
  tier1HallucinationRisk: 0.45,
});
const engine = new TieredExecutionEngine(interceptor, config);

const { response, decision } = await engine.execute({
  tierName: 'tier_1',
  model: 'gpt-4o',
  prompt: 'Summarize invoice 2217',
  mcpResponse: 'Generated answer',
  confidence: 0.42,
  deterministicFallback: async () => 'Deterministic policy response',
});

console.log(response); // the fallback's
console.log(decision.fallbackUsed); // true
console.log(decision.fallbackReason); // low_confidence
console.log(decision.costBreached); // false
