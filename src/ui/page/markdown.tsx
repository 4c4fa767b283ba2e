import type { ComponentChildren } from 'preact';

/**
 * Markdown as elements: headings, lists, quotes, tables, code, emphasis. HTML is text, links show where they lead and are
 * not followed, images are named: nothing is loaded from elsewhere.
 */
export function Markdown({ text }: { text: string }) {
  return <div class="md">{readBlocks(text.split(/\r?\n/u))}</div>;
}

/** Lines that are read as Markdown; further ones are shown as they are. */
const MAX_LINES = 5000;
const FENCE = /^ {0,3}(?:`{3,}|~{3,})/u;
const HEADING = /^ {0,3}#{1,6} +(.*)$/u;
const ITEM = /^( {0,12})(?:[-*+]|(\d{1,9})[.)]) +(.*)$/u;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,}) *$/u;
const TABLE_LINE = /^[ |:-]*-[ |:-]*$/u;

function readBlocks(lines: readonly string[]): ComponentChildren[] {
  const blocks: ComponentChildren[] = [];
  let plain: string[] = [];
  const flush = () => {
    if (plain.some((line) => line.trim() !== '')) blocks.push(<p>{readInline(plain.join('\n'))}</p>);
    plain = [];
  };
  const add = (block: ComponentChildren) => {
    flush();
    blocks.push(block);
  };
  const takeWhile = (from: number, isPart: (line: string) => boolean) => {
    let end = from;
    while (end < lines.length && isPart(lines[end] as string)) end += 1;
    return lines.slice(from, end);
  };
  let i = 0;
  for (; i < lines.length && i < MAX_LINES; i += 1) {
    const line = lines[i] as string;
    const heading = HEADING.exec(line);
    if (FENCE.test(line)) {
      const code = takeWhile(i + 1, (one) => !FENCE.test(one));
      add(<pre class="code">{code.join('\n')}</pre>);
      i += code.length + 1;
    } else if (heading !== null) add(<p class="mdh">{readInline(heading[1] ?? '')}</p>);
    else if (RULE.test(line)) add(<hr />);
    else if (ITEM.test(line)) {
      const items = takeWhile(i, (one) => ITEM.test(one));
      add(<List items={items} />);
      i += items.length - 1;
    } else if (line.startsWith('>')) {
      const quoted = takeWhile(i, (one) => one.startsWith('>'));
      add(<blockquote>{readInline(quoted.map((one) => one.replace(/^> ?/u, '')).join('\n'))}</blockquote>);
      i += quoted.length - 1;
    } else if (line.includes('|') && TABLE_LINE.test(lines[i + 1] ?? '')) {
      const rows = takeWhile(i, (one) => one.includes('|'));
      add(<Table rows={rows.filter((_, at) => at !== 1).map(toCells)} />);
      i += rows.length - 1;
    } else if (line.trim() === '') flush();
    else plain.push(line);
  }
  plain.push(...lines.slice(i));
  flush();
  return blocks;
}

/** One list of the items of all depths, each set in by its own. */
function List({ items }: { items: readonly string[] }) {
  return (
    <ul>
      {items.map((line, i) => {
        const [, indent = '', number, text = ''] = ITEM.exec(line) ?? [];
        return (
          <li key={i} class={`d${Math.min(3, Math.floor(indent.length / 2))}`}>
            <span class="dim">{number === undefined ? '•' : `${number}.`}</span>
            <span>{readInline(text)}</span>
          </li>
        );
      })}
    </ul>
  );
}

function Table({ rows: [head = [], ...rows] }: { rows: readonly (readonly string[])[] }) {
  return (
    <div class="scroll">
      <table class="tbl">
        <thead>
          <tr>
            {head.map((cell, i) => (
              <th key={i}>{readInline(cell)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) => (
                <td key={j}>{readInline(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const toCells = (line: string) =>
  line
    .trim()
    .replace(/^\||\|$/gu, '')
    .split('|');

/** Code, strong, a link or image, emphasis. Bounded, so that no line takes time that grows with its square. */
const INLINE =
  /`([^`\n]{1,2000})`|\*\*([^*\n]{1,1000})\*\*|(!?)\[([^[\]\n]{0,300})\]\(([^()\s]{1,1000})\)|(?<![\w*])[*_]([^*_\n]{1,1000})[*_](?![\w*])/gu;

function readInline(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    const [all, code, strong, isImage, label, url, emphasis] = match;
    parts.push(text.slice(at, match.index));
    if (code !== undefined) parts.push(<code>{code}</code>);
    else if (strong !== undefined) parts.push(<b>{strong}</b>);
    else if (emphasis !== undefined) parts.push(<i>{emphasis}</i>);
    else
      parts.push(
        <>
          {isImage === '!' ? `image ${label}` : label} <span class="sub">({url})</span>
        </>,
      );
    at = match.index + all.length;
  }
  parts.push(text.slice(at));
  return parts;
}
