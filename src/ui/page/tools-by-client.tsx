import { filterValue, type ToolRow } from '../../runs/index.ts';
import { Count } from './parts.tsx';
import { type Route, readRows } from './route.ts';
import { readSort, SortHead, sortRows } from './sort.tsx';

/** Calls by client and server. */
export function ToolsByClient({ tools, route }: { tools: readonly ToolRow[]; route: Route }) {
  const rows = (...terms: readonly (readonly [string, string])[]) =>
    readRows(
      route,
      terms
        .filter(([, name]) => name !== '')
        .map(([field, name]) => `${field}:${filterValue(name)}`)
        .join(' '),
    );
  const servers = [...new Set(tools.map(({ server }) => server))].slice(0, 20);
  const calls = new Map<string, Map<string, number>>();
  for (const { server, clients } of tools) {
    for (const { client, calls: count } of clients) {
      const row = calls.get(client) ?? new Map<string, number>();
      calls.set(client, row.set(server, (row.get(server) ?? 0) + count));
    }
  }
  const sum = (row: ReadonlyMap<string, number>) => [...row.values()].reduce((a, b) => a + b, 0);
  const sort = readSort(route, 'Calls');
  const of = ([client, row]: [string, ReadonlyMap<string, number>]) =>
    sort.by === 'Client' ? client : sort.by === 'Calls' ? sum(row) : (row.get(sort.by.slice(1)) ?? 0);
  return (
    <table class="tbl mtx">
      <thead>
        <tr>
          <SortHead route={route} sort={sort} by="Client" class="" />
          {servers.map((server) => (
            <SortHead
              key={server}
              route={route}
              sort={sort}
              by={`@${server}`}
              label={server === '' ? 'not known' : server}
              class="num mono"
            />
          ))}
          <SortHead route={route} sort={sort} by="Calls" isFirst />
        </tr>
      </thead>
      <tbody>
        {sortRows([...calls], sort, of).map(([client, row]) => (
          <tr key={client}>
            <td>
              {client === '' ? (
                <span class="dim">not known</span>
              ) : (
                <a href={rows(['client', client])}>{client}</a>
              )}
            </td>
            {servers.map((server) => (
              <td key={server} class="num">
                {row.has(server) ? (
                  <a href={rows(['client', client], ['server', server])}>
                    <Count of={row.get(server) ?? 0} />
                  </a>
                ) : (
                  <span class="dim">–</span>
                )}
              </td>
            ))}
            <td class="num">
              <b>
                <Count of={sum(row)} />
              </b>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
