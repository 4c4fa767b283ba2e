/** Links of Markdown documents to files and headings of the repository. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The relative links of `text`, the document at `path` under `root`, that lead nowhere, each in one sentence. */
export function brokenLinks(root: string, path: string, text: string): string[] {
  const targets = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  const relative = targets.filter((target) => !/^\w+:/.test(target));
  return relative.flatMap((target) => {
    const [file = '', anchor] = target.split('#');
    const linked = join(root, file === '' ? path : join(dirname(path), file));
    if (!existsSync(linked)) return [`${path} links to ${target}: there is no such file`];
    if (anchor === undefined || anchorsOf(readFileSync(linked, 'utf8')).includes(anchor)) return [];
    return [`${path} links to ${target}: there is no such heading`];
  });
}

/** The text of a document without its code blocks. */
export function withoutCode(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```$/gm, '');
}

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(text: string): string[] {
  const headings = [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
