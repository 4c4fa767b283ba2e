/** The part of the SDK's `Models` that is read. */
export interface ModelsModule {
  readonly apiClient?: {
    isVertexAI?(): boolean;
    getBaseUrl?(): string;
  };
}
