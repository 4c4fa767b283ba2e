import { context, trace } from '@opentelemetry/api';
import type { ReviewSubmission } from '../../approvals/index.ts';
import { errorMessage } from '../../base/index.ts';
import { getGovernance } from '../../processor/index.ts';
import type { FallbackRequest, FallbackRoute, HumanReviewRoute } from './types.ts';

/** The result of a route. */
export interface RouteResult {
  readonly response: unknown;
  readonly reviewId: string | undefined;
}

/** Runs a route. @throws what the user's function or the queue throws. */
export async function takeRoute(
  route: FallbackRoute,
  request: FallbackRequest,
  service: string | undefined,
): Promise<RouteResult> {
  switch (route.type) {
    case 'template': {
      const { respond } = route;
      const response = typeof respond === 'function' ? await respond(request) : respond;
      return { response, reviewId: undefined };
    }
    case 'draft_only': {
      const { respond } = route;
      const draft = request.response === undefined ? request.arguments : request.response;
      const response = respond === undefined ? { status: 'draft_only', draft } : await respond(request);
      return { response, reviewId: undefined };
    }
    case 'human_review':
      return askPerson(route, request, service);
  }
}

async function askPerson(
  route: HumanReviewRoute,
  request: FallbackRequest,
  service: string | undefined,
): Promise<RouteResult> {
  const reviewId = await route.queue.submit(submissionOf(route, request, service));
  const { respond } = route;
  const response =
    respond === undefined ? { status: 'pending_review', reviewId } : await respond(request, reviewId);
  return { response, reviewId };
}

function submissionOf(
  route: HumanReviewRoute,
  request: FallbackRequest,
  service: string | undefined,
): ReviewSubmission {
  const around = getGovernance(context.active()) ?? {};
  const span = trace.getActiveSpan()?.spanContext();
  return {
    fallbackReason: request.reason,
    content: route.content === undefined ? contentOf(request) : route.content(request),
    toolName: request.toolName,
    service,
    model: request.model,
    riskTier: request.riskTier ?? around.riskTier,
    promptTemplateId: request.promptTemplateId ?? around.promptTemplateId,
    sessionId: around.sessionId,
    confidence: request.confidence,
    hallucinationRisk: request.hallucinationRisk,
    traceId: span?.traceId,
    spanId: span?.spanId,
    expiresInMs: route.expiresInMs,
  };
}

/** What a reviewer needs; of an error only its message. */
function contentOf(request: FallbackRequest): object {
  const { prompt, response, error } = request;
  return {
    ...(prompt === undefined ? {} : { prompt }),
    ...(request.arguments === undefined ? {} : { arguments: request.arguments }),
    ...(response === undefined ? {} : { response }),
    ...(error === undefined ? {} : { error: errorMessage(error) }),
  };
}
