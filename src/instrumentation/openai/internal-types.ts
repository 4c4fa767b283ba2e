/** The one field of an API resource of the SDK (`client.chat.completions`, ...) that is read. */
export interface ApiResource {
  readonly _client?: { readonly baseURL?: unknown };
}
