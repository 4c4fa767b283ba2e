/** Checks the budgets of the documents, in words, and their links; exits with 1 on a problem. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brokenLinks, withoutCode } from './document-links.ts';

const MAX_WORDS = 24_000;
const MAX_PARAGRAPH_WORDS = 120;
const MAX_WORDS_OF: Readonly<Record<string, number>> = {
  'README.md': 1_300,
  'CONTRIBUTING.md': 1_000,
  'CHANGELOG.md': 500,
  'docs/scores.md': 1_200,
};

/** The problems of the documents under `root`, each in one sentence: the Markdown files in it and in `docs`. */
export function findDocumentProblems(root: string): string[] {
  const paths = ['.', 'docs'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
  );
  const problems: string[] = [];
  let total = 0;
  for (const path of paths) {
    const text = readFileSync(join(root, path), 'utf8');
    const words = countWords(text);
    total += words;
    const most = MAX_WORDS_OF[path] ?? MAX_WORDS;
    if (words > most) problems.push(`${path} has ${words} words, at most ${most}`);
    for (const paragraph of paragraphsOf(text)) {
      if (countWords(paragraph) <= MAX_PARAGRAPH_WORDS) continue;
      problems.push(`${path} has a paragraph of ${countWords(paragraph)} words: ${paragraph.slice(0, 60)}`);
    }
    problems.push(...brokenLinks(root, path, text));
  }
  if (total > MAX_WORDS) problems.push(`the documents have ${total} words, at most ${MAX_WORDS}`);
  return problems;
}

/** As `wc -w` counts: whatever stands between white space. */
function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

/** Paragraphs, list items and cells of tables. */
function paragraphsOf(text: string): string[] {
  const blocks = withoutCode(text).split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=\|)/);
  return blocks.flatMap((block) => (block.startsWith('|') ? block.split(' | ') : [block.trim()]));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = findDocumentProblems(fileURLToPath(new URL('../../', import.meta.url)));
  for (const problem of problems) process.stdout.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
