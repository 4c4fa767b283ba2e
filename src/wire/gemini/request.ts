import type { Content, GenerateContentConfig, GenerateContentParameters, Part } from '@google/genai';
import {
  type AssistantPart,
  argumentsForHistory,
  fitMessages,
  type ImagePart,
  imageLabel,
  type ModelMessage,
  type ModelRequest,
  pairCallsWithResults,
  type TextPart,
  type ToolResultPart,
} from '../contract/index.ts';
import { GEMINI_NAME } from './answer.ts';

export type ContentRequest = GenerateContentParameters & {
  contents: Content[];
  config: GenerateContentConfig;
};

/** Sent in place of the signature of a call Gemini did not make itself: without one Gemini 3 refuses the history. */
const UNSIGNED_CALL_SENTINEL = 'skip_thought_signature_validator';

/** Writes the parameters of `models.generateContent`. */
export function writeContentRequest(request: ModelRequest): ContentRequest {
  const { model, tools, maxOutputTokens, temperature, extraBody } = request;
  const messages = fitMessages(request.messages, 'gemini');
  const first = messages.findIndex((message) => message.role !== 'system');
  const lead = first < 0 ? messages.length : first;
  const system = messages.slice(0, lead).map((message) => (message.role === 'system' ? message.text : ''));
  return {
    model,
    contents: pairCallsWithResults(messages.slice(lead)).flatMap((message) =>
      toContent(message, isGemini3(model)),
    ),
    config: {
      ...(system.length === 0 ? {} : { systemInstruction: { parts: system.map((text) => ({ text })) } }),
      ...(tools.length === 0 ? {} : toolConfig(request)),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(extraBody === undefined ? {} : { httpOptions: { extraBody: { ...extraBody } } }),
    },
  };
}

/** Gemini 3 and later: they sign their calls and check the signatures, and take images in results. Gemma does not. */
function isGemini3(model: string): boolean {
  const name = model.slice(model.lastIndexOf('/') + 1);
  return name.startsWith('gemini-') && !/^gemini-[12](?:\.|-)/.test(name);
}

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const;

function toolConfig({ tools, toolChoice }: ModelRequest): GenerateContentConfig {
  return {
    tools: [
      {
        functionDeclarations: tools.map((tool) => ({
          name: tool.name,
          ...(tool.description === undefined ? {} : { description: tool.description }),
          // Takes JSON Schema; `parameters` takes only a subset of OpenAPI and refuses the rest.
          parametersJsonSchema: tool.parameters,
        })),
      },
    ],
    ...(toolChoice === undefined
      ? {}
      : {
          toolConfig: {
            functionCallingConfig: { mode: MODES[toolChoice] },
          } as NonNullable<GenerateContentConfig['toolConfig']>,
        }),
  };
}

function toContent(message: ModelMessage, isGemini3: boolean): Content[] {
  switch (message.role) {
    case 'system':
      return listContent('user', [{ text: message.text }]);
    case 'user':
      return listContent('user', message.parts.map(textOrImage));
    case 'assistant':
      return listContent('model', assistantParts(message.parts, isGemini3));
    case 'tool':
      return toolContents(message.parts, isGemini3);
  }
}

function listContent(role: 'user' | 'model', parts: Part[]): Content[] {
  return parts.length === 0 ? [] : [{ role, parts }];
}

function assistantParts(parts: readonly AssistantPart[], signed: boolean): Part[] {
  const wire: Part[] = [];
  let firstCall = true;
  for (const part of parts) {
    if (part.type === 'text') {
      if (part.text !== '' || part.thoughtSignature !== undefined)
        wire.push(withSignature({ text: part.text }, part));
    } else if (part.type === 'image') {
      wire.push(textOrImage(part));
    } else if (part.type === 'tool_call') {
      const call: Part = {
        functionCall: {
          ...(part.idAssigned === true ? {} : { id: part.id }),
          name: part.name,
          args: argumentsForHistory(part),
        },
      };
      // Only the first call of a step is signed; later parallel ones never are.
      const unsigned = signed && firstCall && part.thoughtSignature === undefined;
      wire.push(unsigned ? { ...call, thoughtSignature: UNSIGNED_CALL_SENTINEL } : withSignature(call, part));
      firstCall = false;
    } else if (part.provider === GEMINI_NAME) {
      wire.push(part.raw as Part);
    }
  }
  return wire;
}

function withSignature(wire: Part, part: { readonly thoughtSignature?: string | undefined }): Part {
  return part.thoughtSignature === undefined ? wire : { ...wire, thoughtSignature: part.thoughtSignature };
}

function textOrImage(part: TextPart | ImagePart): Part {
  return part.type === 'text' ? { text: part.text } : inlineImage(part);
}

/** The result under `output` or `error`, the keys the API gives a meaning. */
function functionResponse(result: ToolResultPart, withImages: boolean): Part {
  const texts = result.content.filter((part) => part.type === 'text').map((part) => part.text);
  const images = withImages ? listImages(result) : [];
  return {
    functionResponse: {
      ...(result.idAssigned === true ? {} : { id: result.id }),
      name: result.name,
      response: { [result.isError ? 'error' : 'output']: result.structured ?? texts.join('\n') },
      ...(images.length === 0 ? {} : { parts: images.map(inlineImage) }),
    },
  };
}

/** Before Gemini 3 a function response holds no images: they follow in a turn of the user. */
function toolContents(results: readonly ToolResultPart[], takesImages: boolean): Content[] {
  const responses = results.map((result) => functionResponse(result, takesImages));
  const images = takesImages
    ? []
    : results.flatMap((result) => {
        const found = listImages(result).map(inlineImage);
        return found.length === 0 ? [] : [{ text: imageLabel(result.name) }, ...found];
      });
  return [...listContent('user', responses), ...listContent('user', images)];
}

function listImages(result: ToolResultPart): ImagePart[] {
  return result.content.filter((part) => part.type === 'image');
}

function inlineImage(image: ImagePart): { inlineData: { mimeType: string; data: string } } {
  return { inlineData: { mimeType: image.mimeType, data: image.data } };
}
