import { type ChangedTool, type DefinitionVersion, formatCounted } from '../../runs/index.ts';
import { CAPTURE } from './model-call.tsx';
import { CopyButton, Count, Tag, Time } from './parts.tsx';
import { changedWords } from './words.ts';

/** Tools whose definition changed in the range, each with what changed last. */
export function ChangedTools({ changed }: { changed: readonly ChangedTool[] }) {
  if (changed.length === 0) return null;
  return (
    <section class="changed" aria-label="Changed definitions">
      <h2>{formatCounted(changed.length, 'changed definition')}</h2>
      {changed.map((tool) => (
        <Changed key={`${tool.seenBy} ${tool.server} ${tool.tool}`} of={tool} />
      ))}
    </section>
  );
}

function Changed({ of: { server, tool, seenBy, versions } }: { of: ChangedTool }) {
  const [before, after] = versions.slice(-2);
  if (before === undefined || after === undefined) return null;
  return (
    <details>
      <summary>
        <Tag status="changed" /> <b class="mono">{tool}</b>{' '}
        <span class="sub">
          {server !== '' && `${server}, `}
          {versions.length} definitions {seenBy === 'gate' ? 'at the policy gate' : 'offered to models'}, the
          newest since <Time ms={after.firstMs} />
        </span>
      </summary>
      <table class="tbl">
        <thead>
          <tr>
            <th>Definition</th>
            <th>First seen</th>
            <th class="hm">Last seen</th>
            <th class="num">Calls</th>
          </tr>
        </thead>
        <tbody>
          {versions.map((version) => (
            <tr key={version.hash}>
              <td class="mono">
                {version.hash.slice(0, 16)} <CopyButton text={version.hash} label="Copy the hash" />
              </td>
              <td>
                <Time ms={version.firstMs} />
              </td>
              <td class="hm">
                <Time ms={version.lastMs} />
              </td>
              <td class="num">
                <Count of={version.calls} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <DefinitionChange before={before} after={after} />
    </details>
  );
}

/** What changed, word by word, or why that cannot be shown. */
export function DefinitionChange({ before, after }: { before: DefinitionVersion; after: DefinitionVersion }) {
  if (before.text === null || after.text === null) {
    return (
      <p class="sub">
        Only hashes are stored. With <code>{CAPTURE}</code> what models are offered is kept, and shown here as
        a difference.
      </p>
    );
  }
  const { a, b } = changedWords(before.text, after.text);
  const part = (words: typeof a, own: 'del' | 'ins') =>
    words.map(({ text, isOwn }, i) => {
      // A line through or under the indentation would hide the words.
      if (!isOwn || (text.includes('\n') && text.trim() === '')) return text;
      return own === 'del' ? <del key={i}>{text}</del> : <ins key={i}>{text}</ins>;
    });
  return (
    <div class="two">
      <div>
        <h3>Before</h3>
        <pre class="code whole">{part(a, 'del')}</pre>
        <Rest of={before} />
      </div>
      <div>
        <h3>Now</h3>
        <pre class="code whole">{part(b, 'ins')}</pre>
        <Rest of={after} />
      </div>
    </div>
  );
}

/** How much of a definition is not shown. */
export function Rest({ of: { text, textChars } }: { of: DefinitionVersion }) {
  const missing = textChars - (text?.length ?? textChars);
  if (missing <= 0) return null;
  return (
    <p class="neg">
      <b>{missing} more characters are not shown.</b> Look at the whole definition before you decide.
    </p>
  );
}
