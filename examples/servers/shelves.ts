import { POLICIES, SHAREPOINT_DOCS, TICKETS } from './documents.ts';
import type { Shelf } from './tools.ts';

/** The example servers by their id. */
export const SHELVES: Readonly<Record<'mcp-sharepoint' | 'mcp-servicenow' | 'mcp-policy-kb', Shelf>> = {
  'mcp-sharepoint': {
    server: 'mcp-sharepoint',
    idName: 'doc_id',
    names: { search: 'search_sharepoint', fetch: 'fetch_sharepoint_doc', remove: 'delete_sharepoint_doc' },
    noun: 'SharePoint document',
    documents: SHAREPOINT_DOCS,
  },
  'mcp-servicenow': {
    server: 'mcp-servicenow',
    idName: 'ticket_id',
    names: { search: 'search_servicenow_tickets', fetch: 'get_ticket', remove: 'delete_ticket' },
    noun: 'ServiceNow ticket',
    documents: TICKETS,
  },
  'mcp-policy-kb': {
    server: 'mcp-policy-kb',
    idName: 'policy_id',
    names: { search: 'search_policy_kb', fetch: 'fetch_policy_entry', remove: 'delete_policy_entry' },
    noun: 'policy',
    documents: POLICIES,
  },
};
