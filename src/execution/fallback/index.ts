export { FallbackRouter, type FallbackRouterOptions } from './router.ts';
export { callWithFallback, type RoutedToolCall, type RoutedToolResult } from './tool-call.ts';
export type {
  DraftOnlyRoute,
  FallbackOutcome,
  FallbackRequest,
  FallbackRoute,
  HumanReviewRoute,
  TemplateRoute,
} from './types.ts';
