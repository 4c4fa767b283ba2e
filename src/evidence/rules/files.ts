/** Files that are said to be made and that no call made. */

import { isObject } from '../../json/index.ts';
import { isPlan } from '../answer/index.ts';
import { type ReadStep, textOfValue } from '../trace/index.ts';
import { onStatement } from './finding.ts';
import type { Rule, RuleFinding } from './types.ts';

const SAVED =
  /(?<![\p{L}\d])(?:saved|stored|exported|written|wrote|created|generated|available|located|downloaded|placed|gespeichert|erstellt|guardad[oa]|cread[oa]|enregistré|créé|salvo|criado)(?!\p{L})|保存|生成|作成|创建/u;
const LISTED =
  /^\W{0,8}(?:[-*•]|\d{1,2}[.)])?\W{0,4}(?:(?:file|path|location|saved|output|report|pdf|html)[^:]{0,24}:\W{0,4})?(?:~|\.)?\//i;
const A_FILE = /(?:^|\/)[^/\s]+\.[a-z0-9]{1,5}$/;

export const unwrittenFile: Rule = {
  name: 'file-that-no-call-wrote',
  says: 'says that a file was made, but no call that went well made it',
  kind: 'tool_never_called',
  needsAllSteps: true,
  apply: (reading) => {
    const calls = reading.steps.filter((step) => !step.isListing);
    if (calls.length === 0) return [];
    const found: (RuleFinding & { kind?: 'tool_failed_claimed_success' })[] = [];
    let opens = false;
    for (const statement of reading.statements) {
      if (statement.kind === 'label')
        opens =
          /(?:files?|outputs?|deliver\w*)\b[^:]{0,20}(?:created|generated|saved|produced|written|:)/.test(
            statement.lower,
          ) || /saved|created|generated/.test(statement.lower);
      if (statement.kind !== 'claim' || isPlan(statement)) continue;
      if (!SAVED.test(statement.lower) && !(opens && LISTED.test(statement.text))) continue;
      const path = reading.facts.find(
        (fact) =>
          fact.statement === statement &&
          fact.kind === 'name' &&
          fact.name.kind === 'place' &&
          A_FILE.test(fact.name.text) &&
          !fact.name.text.startsWith('http'),
      );
      if (path === undefined || path.kind !== 'name') continue;
      const { text } = path.name;
      const fileName = text.slice(text.lastIndexOf('/') + 1);
      const made = calls.some((step) => step.outcome !== 'failed' && !isOnlyContent(step, text, fileName));
      if (made || !reading.known.knows(fileName)) continue;
      const failed = calls.findLast((step) => step.isBad && step.ids.has(text));
      found.push({
        ...onStatement(statement, (failed ?? calls.at(-1))?.index),
        ...(failed !== undefined && { kind: 'tool_failed_claimed_success' }),
      });
    }
    return found;
  },
};
/** The call has the path nowhere but inside a longer text that it was given to write. */
function isOnlyContent(step: ReadStep, path: string, fileName: string): boolean {
  if (step.text.toLowerCase().includes(fileName)) return false;
  const args = isObject(step.arguments) ? Object.values(step.arguments) : [step.arguments];
  const isGiven = args.some((one) =>
    typeof one === 'string'
      ? one.toLowerCase().endsWith(fileName) && one.length <= path.length
      : textOfValue(one, MAX_CHARS).toLowerCase().includes(`"${path}"`),
  );
  return !isGiven && !step.runsCommands;
}
const MAX_CHARS = 4000;
