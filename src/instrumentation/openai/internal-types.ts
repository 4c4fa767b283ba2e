/** The fields of an API resource of the SDK (`client.chat.completions`, ...) that are read. */
export interface ApiResource {
  readonly _client?: {
    readonly baseURL?: unknown;
    /** Of the client for Azure alone. */
    readonly apiVersion?: unknown;
  };
}
