import { context, trace } from '@opentelemetry/api';
import type { ReviewSubmission } from '../../approvals/index.ts';
import {
  checkOptions,
  errorMessage,
  having,
  invalidOption,
  kinds,
  ObservatoryError,
  type OptionKinds,
  required,
} from '../../base/index.ts';
import { getGovernance } from '../../processor/index.ts';
import type { Interceptor } from '../types.ts';
import type { FallbackOutcome, FallbackRequest, FallbackRoute, HumanReviewRoute } from './types.ts';

/** Options of a {@link FallbackRouter}. */
export interface FallbackRouterOptions {
  /** Records the fallbacks. */
  readonly interceptor: Interceptor;
  /** Routes by the name of the tool. */
  readonly routes?: Readonly<Record<string, FallbackRoute>> | undefined;
  /** Route for tools without their own, and for calls without a tool. */
  readonly otherwise?: FallbackRoute | undefined;
}

const TYPES: readonly unknown[] = [
  'template',
  'human_review',
  'draft_only',
] satisfies FallbackRoute['type'][];

const OPTIONS: OptionKinds<FallbackRouterOptions> = {
  interceptor: required(having("an interceptor, as 'instrument()' returns it", 'recordFallback')),
  routes: kinds.object,
  otherwise: kinds.object,
};

/**
 * Replaces an answer or tool call that must not be used, by a route per tool. Each fallback is a span with type and
 * reason, and is counted in `observatory.fallbacks`.
 */
export class FallbackRouter {
  readonly interceptor: Interceptor;
  readonly #routes: ReadonlyMap<string, FallbackRoute>;
  readonly #otherwise: FallbackRoute | undefined;

  /** @throws ObservatoryError `INVALID_OPTION` for a route of an unknown type, or a `human_review` without a queue. */
  constructor(options: FallbackRouterOptions) {
    checkOptions(options, OPTIONS, 'FallbackRouter');
    this.interceptor = options.interceptor;
    this.#routes = new Map(Object.entries(options.routes ?? {}));
    this.#otherwise = options.otherwise;
    for (const [tool, route] of this.#routes) checkRoute(`the tool '${tool}'`, route);
    if (this.#otherwise !== undefined) checkRoute("'otherwise'", this.#otherwise);
  }

  /** @throws ObservatoryError `INVALID_OPTION` when the tool has no route and there is none for all others. */
  routeOf(toolName: string | undefined): FallbackRoute {
    const route = (toolName === undefined ? undefined : this.#routes.get(toolName)) ?? this.#otherwise;
    if (route !== undefined) return route;
    const what = toolName === undefined ? 'a call that names no tool' : `the tool '${toolName}'`;
    const known = [...this.#routes.keys()].map((tool) => `'${tool}'`).join(', ') || 'none';
    throw new ObservatoryError(
      'INVALID_OPTION',
      `There is no fallback route for ${what}; tools with one: ${known}. Add it to 'routes', or set 'otherwise'`,
    );
  }

  /**
   * Runs the route of the request's tool.
   * @throws what the route throws, for example when the queue is unreachable; its span is marked. The refused answer is
   * never returned instead.
   */
  async fallBack(request: FallbackRequest): Promise<FallbackOutcome> {
    const route = this.routeOf(request.toolName);
    const { result, span } = await this.interceptor.recordFallback<RouteResult>({
      fallbackType: route.type,
      fallbackReason: request.reason,
      toolName: request.toolName,
      prompt: request.prompt,
      retries: request.retries,
      riskTier: request.riskTier,
      promptTemplateId: request.promptTemplateId,
      parent: request.parent,
      answerOf: ({ response }) => response,
      call: () => takeRoute(route, request, this.interceptor.serviceName),
    });
    return { ...result, fallbackType: route.type, fallbackReason: request.reason, span };
  }
}

function checkRoute(where: string, route: FallbackRoute): void {
  if (!TYPES.includes(route?.type)) {
    const expected = 'template, human_review or draft_only';
    throw invalidOption(`the type of the fallback route of ${where}`, expected, route?.type);
  }
  if (route.type === 'human_review' && typeof route.queue?.submit !== 'function') {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `The human_review route of ${where} needs a 'queue' with a method 'submit', for instance a PostgresReviewQueue`,
    );
  }
}

interface RouteResult {
  readonly response: unknown;
  readonly reviewId: string | undefined;
}

/** Runs a route. @throws what the user's function or the queue throws. */
async function takeRoute(
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
  const reviewId = await route.queue.submit(toSubmission(route, request, service));
  const { respond } = route;
  const response =
    respond === undefined ? { status: 'pending_review', reviewId } : await respond(request, reviewId);
  return { response, reviewId };
}

function toSubmission(
  route: HumanReviewRoute,
  request: FallbackRequest,
  service: string | undefined,
): ReviewSubmission {
  const around = getGovernance(context.active()) ?? {};
  const span = trace.getActiveSpan()?.spanContext();
  return {
    fallbackReason: request.reason,
    content: route.content === undefined ? readContent(request) : route.content(request),
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
function readContent(request: FallbackRequest): object {
  const { prompt, response, error } = request;
  return {
    ...(prompt === undefined ? {} : { prompt }),
    ...(request.arguments === undefined ? {} : { arguments: request.arguments }),
    ...(response === undefined ? {} : { response }),
    ...(error === undefined ? {} : { error: errorMessage(error) }),
  };
}
